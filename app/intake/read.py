"""Text in, a reading out: scripts with roles, the claim, the claimed environment, and what must be asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from app.errors import InputError, TooLargeError
from app.intake.asks import ask, asks_of
from app.intake.claim_text import read_claim
from app.intake.claimed_environment import claimed_environment
from app.intake.claims import CheckKind, Claim
from app.intake.comments import comment_claim
from app.intake.markdown import blocks_of, looks_like_markdown, unix_lines, without_comments
from app.intake.reading import Ask, Reading, Repair, Script, ScriptRole
from app.intake.report import Part, parts_of
from app.intake.report_claim import claim_of
from app.intake.roles import Code, about_versions_only, joins, lacking, roles_of
from app.intake.scripts import make_script
from worker.contract import KIB, MIB

MOST_SCRIPT_BYTES = 256 * KIB
MOST_REPORT_BYTES = 1 * MIB
# Of more pieces of code than this, the rest is not looked at.
MOST_CODES = 20
_FAILURE = re.compile(
    r"Traceback \(most recent|^[ \t]*(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b|Segmentation fault|core dumped", re.MULTILINE
)
_WITH_ARGUMENTS = re.compile(r"\bpython3? +[\w./-]+\.py +-{1,2}\w")


def read(
    text: str,
    *,
    form: Literal["auto", "script", "report"] = "auto",
    claim: str | None = None,
    title: str = "",
    most_script_bytes: int = MOST_SCRIPT_BYTES,
    most_report_bytes: int = MOST_REPORT_BYTES,
) -> Reading:
    """Read a script or a report. Raises InputError for what can't be read at all, TooLargeError over a limit."""
    if not text.strip():
        raise InputError("It is empty: send a script or a report.", code="empty_script", field="script")
    size = len(text.encode(errors="surrogatepass"))
    if size > max(most_script_bytes, most_report_bytes):
        raise TooLargeError(f"It is larger than {max(most_script_bytes, most_report_bytes)} bytes.", field="report")
    is_report = form == "report" or (form == "auto" and looks_like_markdown(text))
    most, what = (most_report_bytes, "report") if is_report else (most_script_bytes, "script")
    if size > most:
        raise TooLargeError(f"The {what} is larger than {most} bytes.", field=what)
    if not is_report:
        return _script(text, claim=claim, title=title)
    reading = _report(text, claim=claim, title=title)
    if any(len(script.script.encode(errors="surrogatepass")) > most_script_bytes for script in reading.scripts):
        raise TooLargeError(f"The script in the report is larger than {most_script_bytes} bytes.", field="script")
    return reading


def _script(text: str, *, claim: str | None, title: str) -> Reading:
    said = read_claim((claim if claim is not None else comment_claim(text)) or "")
    script = make_script(text, repair=not _is_of_names(said))
    return Reading(title=title, scripts=(script,), claim=said, ask=asks_of([script]))


def _is_of_names(claim: Claim) -> bool:
    """Whether what is claimed is that a name is not there: to add it would remove the bug."""
    return any(check.kind is CheckKind.EXCEPTION and check.exception_type in {"NameError", "UnboundLocalError"} for check in claim.checks)


def _report(text: str, *, claim: str | None, title: str) -> Reading:
    blocks = blocks_of(text)
    title = title or next((block.text for block in blocks if block.kind == "heading"), "")
    parts = parts_of(blocks)
    environment = claimed_environment(without_comments(unix_lines(text)))
    codes = _codes(parts)
    if not codes:
        code = "no_python" if any(part.kind == "foreign" for part in parts) else "no_script"
        return Reading(title=title, claim=read_claim(claim or ""), environment=environment, ask=(ask(code),))
    roles = roles_of(codes)
    main = codes[roles.index(ScriptRole.MAIN)]
    said = read_claim(claim) if claim is not None else claim_of(parts, main.text, title)
    scripts = _scripts(codes, roles, repair=not _is_of_names(said))
    return Reading(title=title, scripts=scripts, claim=said, environment=environment, ask=_asks(scripts, said, text))


def _codes(parts: Sequence[Part]) -> list[Code]:
    """The pieces of code that are worth a run, with what stands around them."""
    found: list[Code] = []
    for at, part in enumerate(parts):
        if part.kind == "code" and not about_versions_only(part.text) and len(found) < MOST_CODES:
            following = parts[at + 1 : at + 3]
            below = next((other.text for other in following if other.kind in {"output", "prose"}), "")
            found.append(Code(part.text, part.before, part.transcript, fails_after=_FAILURE.search(below) is not None))
    return found


def _scripts(codes: Sequence[Code], roles: Sequence[ScriptRole], *, repair: bool) -> tuple[Script, ...]:
    """The main script first, with the parts that go on where it ends; then the others. Equal ones are one."""
    at_main = roles.index(ScriptRole.MAIN)
    main = codes[at_main]
    joined = 0
    made: list[Script] = []
    for at, (code, role) in enumerate(zip(codes, roles, strict=True)):
        if at > at_main and role is ScriptRole.PART and joins(main, code):
            text = f"{main.text.rstrip()}\n\n{code.text}"
            main = Code(text, main.before, main.transcript, fails_after=main.fails_after or code.fails_after)
            joined += 1
        elif at != at_main:
            made.append(make_script(code.text, role=role, repair=repair, transcript=code.transcript))
    script = make_script(main.text, role=ScriptRole.MAIN, repair=repair, transcript=main.transcript)
    if joined:
        note = Repair(code="joined_parts", detail=f"Joined {joined + 1} blocks of code.")
        script = script.model_copy(update={"repairs": (note, *script.repairs)})
    unique: dict[str, Script] = {}
    for each in (script, *made):
        unique.setdefault(each.digest, each)
    return tuple(unique.values())


def _asks(scripts: Sequence[Script], claim: Claim, text: str) -> tuple[Ask, ...]:
    main = scripts[0]
    asks = asks_of(scripts)
    if lacking(main.script) and not _is_of_names(claim):
        asks = (*asks, ask("undefined_name"))
    if not any(each.code == "arguments" for each in asks) and "argparse" in main.script and _WITH_ARGUMENTS.search(text):
        asks = (*asks, ask("arguments"))
    return asks
