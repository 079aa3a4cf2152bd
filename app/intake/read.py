"""Reads a text: scripts with their roles, the claim, the claimed environment, and what must be asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Literal

from app.errors import InputError, TooLargeError
from app.intake.claim.claim_text import read_claim
from app.intake.claim.comments import comment_claim
from app.intake.exhibits.anchors import with_anchors, with_ties
from app.intake.exhibits.exhibits import PostText, align, exhibits_of
from app.intake.exhibits.stances import with_stances
from app.intake.memory import reading_memory
from app.intake.model.answer import MOST_ANSWER, believe
from app.intake.model.join import join
from app.intake.model.prompt import PROMPT_VERSION
from app.intake.needs.asks import asks_of
from app.intake.needs.ignored_needs import without_needs
from app.intake.read_thread import read_thread
from app.intake.reading import ClaimSource, ModelNote, NeedKind, Reading
from app.intake.snippets.scripts import make_script, repair_rules_for
from app.intake.text.markdown import looks_like_markdown
from app.intake.text.thread import Thread, thread_of
from app.intake.typed.typed_claim import given_claim, source_of, with_scripts
from app.limits import ReadLimits


def read(
    text: str,
    *,
    limits: ReadLimits,
    form: Literal["auto", "script", "report"] = "auto",
    claim: str | None = None,
    title: str = "",
    ignore_needs: Collection[NeedKind] = (),
) -> Reading:
    """Read a script, a report or the JSON of a thread. `ignore_needs` are kinds of needs that it has not.

    Raises TooLargeError over a limit, and InputError for a text that can't be read at all.
    """
    with reading_memory():
        reading = _read(text, limits=limits, form=form, claim=claim, title=title)
    return without_needs(reading, ignore_needs)


def _read(
    text: str,
    *,
    limits: ReadLimits,
    form: Literal["auto", "script", "report"],
    claim: str | None,
    title: str,
) -> Reading:
    if not text.strip():
        raise InputError("It is empty: send a script or a report.", code="empty_script", field="script")
    # Before anything is parsed. Only the parse tells a script from a report.
    _check_size(text, form, limits)
    _check_claim(claim, limits)
    thread = None if form == "script" else thread_of(text)
    is_report = thread is not None or form == "report" or (form == "auto" and looks_like_markdown(text))
    _check_size(text, "report" if is_report else "script", limits)
    if not is_report:
        return _script(text, claim=claim, title=title)
    reading = read_thread(thread or Thread(title="", body=text), claim=claim, title=title)
    # A repair may add a line. The limit is one of what was sent.
    if any(_bytes(script.as_given) > limits.script_bytes for script in reading.scripts):
        raise TooLargeError(
            f"The script in the report is larger than {limits.script_bytes} bytes.", field="script"
        )
    return reading


def with_claim(reading: Reading, claim: str, *, text: str, limits: ReadLimits) -> Reading:
    """A reading with a corrected claim, which may be data. Its scripts stay as they were run.

    `text` is that of the report, which may show where something is raised. Raises TooLargeError, InputError.
    """
    _check_claim(claim, limits)
    with reading_memory():
        own_claim = given_claim(claim).model_copy(update={"corrected": True})
        if reading.scripts:
            own_claim = with_anchors(own_claim, reading.scripts[0].script, [claim, text])
        own_claim = with_scripts(own_claim, reading.scripts)
    exhibits = align(reading.exhibits, own_claim)
    return reading.model_copy(
        update={"claim": own_claim, "claim_source": ClaimSource.CORRECTED, "exhibits": exhibits}
    )


def may_ask_model(reading: Reading) -> bool:
    """Whether a model may read the report, too: it has a script that runs, and nobody gave a claim."""
    return bool(reading.scripts) and not reading.ask and reading.claim_source is ClaimSource.RULES


def text_for_model(text: str) -> str:
    """The text of a report that a model reads: of a thread, the body and the comments below it."""
    thread = thread_of(text)
    if thread is None:
        return text
    return "\n\n".join(
        [thread.body, *(f"Comment {at}:\n{post.body}" for at, post in enumerate(thread.comments, 1))]
    )


def with_answer(reading: Reading, answer: str, *, text: str, model: str = "") -> Reading:
    """A reading with what a model says about the report. `model` is its name.

    Raises InputError if the answer has a wrong form, or if no model may read this report.
    """
    if not may_ask_model(reading):
        raise InputError(
            "A model's answer counts only for a report with a script, without questions and without a claim"
            " of its own.",
            code="bad_answer",
            field="answer",
        )
    script = reading.scripts[0].script
    with reading_memory():
        believed = believe(answer, text_for_model(text), script)
        claim = join(reading.claim, believed.readings)
        if claim != reading.claim:
            claim = with_ties(with_anchors(claim, script, [text]), script, [text])
    note = ModelNote(
        model=model,
        prompt=PROMPT_VERSION,
        answer=answer[:MOST_ANSWER],
        dropped=tuple(believed.dropped),
        changed=claim != reading.claim,
    )
    exhibits = align(reading.exhibits, claim) if note.changed else reading.exhibits
    return reading.model_copy(update={"claim": claim, "model": note, "exhibits": exhibits})


def with_corrected_stances(
    reading: Reading, stances: Mapping[str, str], *, text: str, limits: ReadLimits, who: str
) -> tuple[Reading, str]:
    """A reading with other stances of its exhibits, and its claim as the text of data.

    Raises TooLargeError, InputError.
    """
    corrected = with_stances(reading, stances, who=who)
    after = with_claim(reading, corrected.claim, text=text, limits=limits)
    return after.model_copy(update={"exhibits": corrected.exhibits}), corrected.claim


def _check_size(text: str, form: Literal["auto", "script", "report"], limits: ReadLimits) -> None:
    most, field, name = {
        "auto": (limits.most_bytes, "report", "It"),
        "script": (limits.script_bytes, "script", "The script"),
        "report": (limits.report_bytes, "report", "The report"),
    }[form]
    if _bytes(text) > most:
        raise TooLargeError(f"{name} is larger than {most} bytes.", field=field)


def _check_claim(claim: str | None, limits: ReadLimits) -> None:
    """A claim may be as large as a report, since it may be the output that a report shows."""
    if claim is not None and _bytes(claim) > limits.report_bytes:
        raise TooLargeError(f"The claim is larger than {limits.report_bytes} bytes.", field="claim")


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _script(text: str, *, claim: str | None, title: str) -> Reading:
    own_claim = given_claim(claim) if claim is not None else read_claim(comment_claim(text) or "")
    # A file runs as it is: no prompt and no notebook would have displayed a value of it.
    script = make_script(text, rules=replace(repair_rules_for(own_claim), shows=False))
    own_claim = with_anchors(own_claim, script.script, [claim or comment_claim(text) or ""])
    own_claim = with_scripts(own_claim, [script])
    return Reading(
        title=title,
        scripts=(script,),
        claim=own_claim,
        claim_source=source_of(claim),
        exhibits=exhibits_of([PostText(text)], own_claim, script.script),
        ask=asks_of([script]),
    )
