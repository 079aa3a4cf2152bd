"""Text in, a reading out: scripts with roles, the claim, the claimed environment, and what must be asked."""

from __future__ import annotations

import re
from typing import Literal

from app.errors import InputError, TooLargeError
from app.intake.claim_text import output_check, read_claim
from app.intake.claimed_environment import claimed_environment
from app.intake.claims import Claim, Role
from app.intake.markdown import Block, blocks_of, looks_like_markdown
from app.intake.reading import Ask, NeedKind, Reading, Script, ScriptRole
from app.intake.scripts import is_python, make_script
from app.intake.wording import is_output_line
from worker.contract import KIB, MIB

MOST_SCRIPT_BYTES = 256 * KIB
MOST_REPORT_BYTES = 1 * MIB
_COMMENT_CLAIM = re.compile(r"#\s*[Cc]laim:\s*(.*)")
_PROSE_CLAIM = re.compile(r"^\s*\**[Cc]laim:?\**:?\s+(.+)", re.MULTILINE)

_ASKS = {
    "no_script": "Send the script that shows it, as text in a code block.",
    "no_python": "Send a Python script: the code in this report is in another language or can't be parsed.",
    "file": "The script reads a file that is not in the report. Send a script that makes its data itself.",
    "arguments": "The script needs command-line arguments. Send a script that runs without any.",
    "input": "The script reads input from the keyboard. Send a script that runs by itself.",
}


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
    is_report = form == "report" or (form == "auto" and looks_like_markdown(text))
    most, what = (most_report_bytes, "report") if is_report else (most_script_bytes, "script")
    if len(text.encode(errors="surrogatepass")) > most:
        raise TooLargeError(f"The {what} is larger than {most} bytes.", field=what)
    reading = _report(text, claim=claim, title=title) if is_report else _script(text, claim=claim, title=title)
    return reading.model_copy(update={"ask": reading.ask or _asks(reading.scripts)})


def _script(text: str, *, claim: str | None, title: str) -> Reading:
    script = make_script(text)
    said = claim if claim is not None else comment_claim(script.as_given)
    return Reading(title=title, scripts=(script,), claim=read_claim(said or ""))


def comment_claim(script: str) -> str | None:
    """The claim in the leading comments of a script: after `# Claim:`, and the comment lines that follow it."""
    said: list[str] = []
    inside = False
    for line in script.splitlines():
        stripped = line.strip()
        if not stripped.startswith("#"):
            if stripped:
                break
            inside = False
            continue
        found = _COMMENT_CLAIM.match(stripped)
        if found:
            said.append(found[1])
            inside = True
        elif inside:
            said.append(stripped.lstrip("#").strip())
    return "\n".join(said) if said else None


def _report(text: str, *, claim: str | None, title: str) -> Reading:
    blocks = blocks_of(text)
    heading = next((block.text for block in blocks if block.kind == "heading"), "")
    environment = claimed_environment(text)
    codes = [block for block in blocks if block.kind == "code" and block.may_be_python and is_python(block.text)]
    if not codes:
        unread = any(block.kind == "code" and block.may_be_python and _meant_as_python(block) for block in blocks)
        code = "no_python" if unread or any(block.kind == "code" and not block.may_be_python for block in blocks) else "no_script"
        return Reading(title=title or heading, environment=environment, ask=(Ask(code=code, text=_ASKS[code]),))
    scripts = _with_roles(codes)
    said = read_claim(claim) if claim is not None else _claim(blocks, codes, scripts, title or heading)
    return Reading(title=title or heading, scripts=scripts, claim=said, environment=environment)


def _meant_as_python(block: Block) -> bool:
    return block.language != "" or re.search(r"^\s*(?:import|from)\s+\w+", block.text, re.MULTILINE) is not None


def _with_roles(codes: list[Block]) -> tuple[Script, ...]:
    """The first script is the main one. What follows runs as a job of its own: nothing is joined that the reporter did not join."""
    made = [make_script(block.text, role=ScriptRole.MAIN if at == 0 else ScriptRole.ALTERNATIVE) for at, block in enumerate(codes)]
    return tuple({script.digest: script for script in reversed(made)}[digest] for digest in dict.fromkeys(s.digest for s in made))


def _claim(blocks: list[Block], codes: list[Block], scripts: tuple[Script, ...], title: str) -> Claim:
    """The claim of a report: said outright, in the script's comments, in a block of output, or in the prose."""
    prose = [block.text for block in blocks if block.kind == "prose"]
    outright = next((found[1] for text in prose for found in [_PROSE_CLAIM.search(text)] if found), None)
    said = outright or comment_claim(scripts[0].as_given)
    if said:
        return read_claim(said)
    for block in blocks:
        if block.kind == "code" and block not in codes and block.language in {"", "text", "txt", "console", "output", "pytb", "python"}:
            claim = _of_output(block.text)
            if claim.checks:
                return claim
    for text in [*prose, title]:
        claim = read_claim(text)
        if claim.having(Role.BUG):
            return claim
    return Claim()


def _of_output(text: str) -> Claim:
    """A block that is no code: a traceback, lines of two devices, or printed lines."""
    claim = read_claim(text)
    if claim.checks:
        return claim
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and len(lines) <= 50 and any(is_output_line(line) for line in lines):
        return Claim(checks=(output_check(lines),), text=text[:4000])
    return claim


def _asks(scripts: tuple[Script, ...]) -> tuple[Ask, ...]:
    """What only the reporter can supply."""
    codes = {NeedKind.FILE: "file", NeedKind.ARGUMENTS: "arguments", NeedKind.INPUT: "input"}
    found = {codes[need.kind] for script in scripts if script.role is ScriptRole.MAIN for need in script.needs if need.kind in codes}
    return tuple(Ask(code=code, text=_ASKS[code]) for code in sorted(found))
