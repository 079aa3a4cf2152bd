"""`samehere judge-again` and `read-again`: stored attempts and reports by today's rules.

Both show or store the verdicts that flip.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

from app.command.service.configuration import load_settings
from app.command.service.database import service_database
from app.command.terminal.consoles import print_json, print_line
from app.command.terminal.plain_text import visible
from app.errors import InputError

if TYPE_CHECKING:
    from app.runs.maintenance.rejudge import Flip
    from app.runs.maintenance.reread import ReportReadAgain

# Each page is one transaction: after an interruption, `--after` goes on behind the last page.
REPORTS_OF_A_PAGE = 20


def judge_again(*, report: str | None, every: bool, apply: bool, reason: str | None, as_json: bool) -> int:
    """Print the verdicts that flip; the exit status is 0. Each page of runs is one transaction.

    Raises InputError, or SetupError.
    """
    if (report is None) == (not every):
        raise InputError("Give either --report ID or --all.", code="report_or_all", field="report")
    if apply and not (reason or "").strip():
        raise InputError(
            "Give a reason with --reason: it is stored with every verdict that changes.",
            code="no_reason",
            field="reason",
        )
    with service_database() as sessions:
        from app.runs.maintenance.rejudge import judge_again as judge
        from app.runs.rows.acts import OPERATOR

        cursor, looked_at = None, 0
        flips: list[Flip] = []
        while True:
            with sessions.begin() as session:
                page = judge(
                    session, report_id=report, cursor=cursor, apply=apply, reason=reason or "", who=OPERATOR
                )
            looked_at, flips, cursor = looked_at + page.looked_at, [*flips, *page.flips], page.next
            if cursor is None:
                break
    if as_json:
        print_json(
            {
                "present_rules": page.present_rules,
                "applied": apply,
                "looked_at": looked_at,
                "flips": [flip.model_dump(mode="json") for flip in flips],
            }
        )
        return 0
    for flip in flips:
        print_line(_line(flip))
    if apply:
        ending = "changed"
    else:
        ending = "would change; --apply --reason TEXT stores it" if flips else "would change"
    print_line(
        f"{_count(looked_at, 'finished run')} judged by rules {page.present_rules}: {len(flips)} {ending}"
    )
    return 0


def _line(flip: Flip) -> str:
    verdicts = (
        f"{flip.before} -> {flip.after}" if flip.before is not flip.after else f"{flip.after} as before"
    )
    notes = [
        *([_count(len(flip.jobs), "cell")] if flip.jobs else []),
        f"rules {flip.rules or 'without a number'}",
        *([f"overruled as {flip.overruled}, which stays"] if flip.overruled else []),
        *(["contributed"] if flip.contributed else []),
    ]
    return visible(f"{flip.run}  {verdicts}  ({'; '.join(notes)})")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def read_again(
    *, report: str | None, every: bool, preview: bool, reason: str | None, after: str | None, as_json: bool
) -> int:
    """Print the reports that change and the verdicts that flip; the exit status is 0.

    Raises InputError, or SetupError.
    """
    _check_options(report=report, every=every, preview=preview, reason=reason)
    counts = Counter[str]()
    changed: list[ReportReadAgain] = []
    with service_database() as sessions:
        from app.runs.maintenance.reread import ReadAgain
        from app.runs.maintenance.reread import read_again as read_page
        from app.runs.rows.acts import OPERATOR

        settings, cursor = load_settings(), after
        while True:
            with sessions.begin() as session:
                page = read_page(
                    session,
                    settings=settings,
                    report_id=report,
                    cursor=cursor,
                    limit=REPORTS_OF_A_PAGE,
                    apply=not preview,
                    reason=reason or "",
                    who=OPERATOR,
                )
            counts.update(str(each.outcome) for each in page.reports)
            changed += [each for each in page.reports if each.outcome is ReadAgain.CLAIM]
            if page.next is None:
                break
            cursor = page.next
            sys.stderr.write(f"{counts.total()} read; to go on from here: --after {cursor}\n")
    if as_json:
        reports = [each.model_dump(mode="json") for each in changed]
        print_json({"applied": not preview, "counts": counts, "changed": reports})
        return 0
    for each in changed:
        flips = ", ".join(f"{flip.run} {flip.before} -> {flip.after}" for flip in each.flips)
        print_line(visible(f"{each.report}  another claim  {flips or 'no verdict flips'}"))
    outcomes = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    ending = "; nothing is stored" if preview else ""
    print_line(f"{counts.total()} read again: {outcomes or 'none'}{ending}")
    return 0


def _check_options(*, report: str | None, every: bool, preview: bool, reason: str | None) -> None:
    if (report is None) == (not every):
        raise InputError("Give either --report ID or --all.", code="report_or_all", field="report")
    if not preview and not (reason or "").strip():
        raise InputError(
            "Give a reason with --reason, which is stored with every claim that changes; or --preview.",
            code="no_reason",
            field="reason",
        )
