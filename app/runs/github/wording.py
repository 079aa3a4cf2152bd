"""The text of a comment and of a check: our own words, names of hardware, versions and counts.

Nothing of a report, a script or its output is in it, and what comes from a node is broken where GitHub would
make more of it than text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.judging.judgement import Verdict
from app.runs.github.check import conclude
from app.runs.github.hub import CheckText
from app.runs.github.repositories import SHA_CHARACTERS, Repository
from app.runs.run_object.answer.in_markdown import cell_table, plain
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.document import RunDocument
from app.storage.models.github_thread import ThreadRefusal

MOST_CELLS = 40
# GitHub takes 65 536 characters.
MOST_CHARACTERS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """The present text of a thread. `verdict` is set once it is the last word on this run."""

    text: str
    verdict: Verdict | None
    is_final: bool
    check: CheckText | None = None


def refusal_text(refusal: ThreadRefusal, repository: Repository, *, head_sha: str | None) -> str:
    """Why there is no run, and what would help."""
    if refusal == "preset":
        names = ", ".join(f"`{name}`" for name in repository.presets)
        return f"This repository allows the presets {names}."
    if refusal == "report":
        return "This text is too long, or can't be read as a report."
    base, build = repository.sides(head_sha or "")
    if refusal == "no_base_build":
        return f"No node has the toolchain `{base}`, which is the base of this check."
    return (
        f"No node has a build of the head of this pull request. Build commit"
        f" `{(head_sha or '')[:SHA_CHARACTERS]}` as the toolchain `{build}`, and ask again."
    )


def refusal_posting(refusal: ThreadRefusal, repository: Repository, *, head_sha: str | None) -> Posting:
    """The posting of a thread without a run."""
    words = refusal_text(refusal, repository, head_sha=head_sha)
    check = CheckText(title="It cannot be shown", summary=words, conclusion="neutral")
    return Posting(text=f"**samehere: not run**\n\n{words}", verdict=None, is_final=True, check=check)


def posting(
    run: RunDocument,
    answer: AnswerPart,
    *,
    page: str | None,
    sides: tuple[str, str] | None = None,
    overruled: Verdict | None = None,
) -> Posting:
    """The posting of a run, in progress or at its end. `overruled` is a maintainer's verdict.

    `sides` are the toolchains of base and head of a pull request, which gets a check.
    """
    is_final = run.state in {"finished", "cancelled"}
    verdict = (overruled or run.verdict) if is_final else None
    headline = _progress(run) if not is_final else (verdict or "cancelled").replace("_", " ")
    lines = _comment(run, answer, headline, page=page, is_overruled=is_final and overruled is not None)
    text = "\n".join(lines)[:MOST_CHARACTERS]
    check = None if sides is None else _check(run, text, sides, is_final=is_final)
    return Posting(text=text, verdict=verdict, is_final=is_final, check=check)


def _check(run: RunDocument, text: str, sides: tuple[str, str], *, is_final: bool) -> CheckText:
    if not is_final:
        return CheckText(title="running", summary=text)
    conclusion, reason = conclude(run, base=sides[0], head=sides[1])
    # Names of packages stand behind the colon: whoever builds the head chooses them.
    title = reason.partition(":")[0]
    return CheckText(title=title, summary=f"{plain(reason)}\n\n{text}", conclusion=conclusion)


def _comment(
    run: RunDocument, answer: AnswerPart, headline: str, *, page: str | None, is_overruled: bool
) -> Iterator[str]:
    yield f"**samehere: {headline}**"
    yield ""
    if is_overruled:
        yield "- This is the word of a maintainer. The measured answer:"
    slots = {
        "What": answer.what,
        "Where": answer.where,
        "How sure": answer.how_sure,
        "Whose": answer.whose,
        "Known": "" if answer.known is None else answer.known.words,
    }
    for name, sentence in slots.items():
        if sentence:
            yield f"- {name}: {plain(sentence)}"
    if run.finished_at is not None and not any(slots.values()) and run.summary:
        yield f"- {plain(run.summary)}"
    for ask in run.ask:
        yield f"- {plain(ask.text)}"
    yield ""
    if run.jobs:
        yield "<details><summary>Cells</summary>"
        yield ""
        yield from cell_table(run.jobs, most=MOST_CELLS)
        yield ""
        yield "</details>"
        yield ""
    link = f" · [every attempt and its output]({page}/runs/{run.id})" if page else ""
    yield f"Run `{run.id}`{link}"


def _progress(run: RunDocument) -> str:
    ended = sum(job.verdict is not None for job in run.jobs)
    return f"running, {ended} of {len(run.jobs)} cells have a verdict"
