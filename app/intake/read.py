"""Text in, a reading out: scripts with roles, the claim, the claimed environment, and what must be asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from app.errors import InputError, TooLargeError
from app.intake.claim.claim_text import read_claim
from app.intake.claim.comments import comment_claim
from app.intake.code.syntax import keeping_trees
from app.intake.needs.asks import asks_of
from app.intake.read_thread import read_thread
from app.intake.reading import Reading
from app.intake.snippets.scripts import make_script, mending_for
from app.intake.text.markdown import looks_like_markdown
from app.intake.text.thread import Thread, thread_of
from worker.contract import KIB, MIB

MOST_SCRIPT_BYTES = 256 * KIB
MOST_REPORT_BYTES = 1 * MIB


def read(
    text: str,
    *,
    form: Literal["auto", "script", "report"] = "auto",
    claim: str | None = None,
    title: str = "",
    most_script_bytes: int = MOST_SCRIPT_BYTES,
    most_report_bytes: int = MOST_REPORT_BYTES,
) -> Reading:
    """Read a script, a report or the JSON of a thread. Raises InputError for what can't be read at all, TooLargeError over a limit."""
    with keeping_trees():
        return _read(
            text,
            form=form,
            claim=claim,
            title=title,
            most_script_bytes=most_script_bytes,
            most_report_bytes=most_report_bytes,
        )


def _read(
    text: str,
    *,
    form: Literal["auto", "script", "report"],
    claim: str | None,
    title: str,
    most_script_bytes: int,
    most_report_bytes: int,
) -> Reading:
    if not text.strip():
        raise InputError("It is empty: send a script or a report.", code="empty_script", field="script")
    size = len(text.encode(errors="surrogatepass"))
    if size > max(most_script_bytes, most_report_bytes):
        raise TooLargeError(
            f"It is larger than {max(most_script_bytes, most_report_bytes)} bytes.", field="report"
        )
    thread = None if form == "script" else thread_of(text)
    is_report = thread is not None or form == "report" or (form == "auto" and looks_like_markdown(text))
    most, what = (most_report_bytes, "report") if is_report else (most_script_bytes, "script")
    if size > most:
        raise TooLargeError(f"The {what} is larger than {most} bytes.", field=what)
    if not is_report:
        return _script(text, claim=claim, title=title)
    reading = read_thread(thread or Thread(title="", body=text), claim=claim, title=title)
    if any(
        len(script.script.encode(errors="surrogatepass")) > most_script_bytes for script in reading.scripts
    ):
        raise TooLargeError(
            f"The script in the report is larger than {most_script_bytes} bytes.", field="script"
        )
    return reading


def _script(text: str, *, claim: str | None, title: str) -> Reading:
    said = read_claim((claim if claim is not None else comment_claim(text)) or "")
    # A file runs as it is: no prompt and no cell would have shown a value of it.
    script = make_script(text, mending=replace(mending_for(said), shows=False))
    return Reading(title=title, scripts=(script,), claim=said, ask=asks_of([script]))
