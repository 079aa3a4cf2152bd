"""The warnings that only the newer side of a flip gives. They often say why it changed."""

from __future__ import annotations

import builtins
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from app.judging.output.warnings_of import warnings_in
from app.runs.run_object.answer.flips import Flip
from app.runs.run_object.document import JobPart
from worker.contract import CapturedWarning

MOST_NEW = 3
MOST_TEXT = 500


class NewWarning(BaseModel):
    """A warning that only the newer side gives. Category and text are untrusted, cut short."""

    model_config = ConfigDict(frozen=True)

    package: str = Field(max_length=200, description="the package whose version is the only difference")
    older: str = Field(max_length=200, description="the version without the warning")
    newer: str = Field(max_length=200, description="the version with it")
    category: str = Field(max_length=200, description="such as `DeprecationWarning`: untrusted text")
    text: str = Field(default="", max_length=MOST_TEXT, description="untrusted text, cut short")
    line: int | None = Field(default=None, description="the line of the script that led to it, if known")


def new_warnings_of(flip: Flip | None) -> list[NewWarning]:
    """The new warnings, those with a line of the script first. Empty if a side is not known."""
    if flip is None or flip.before is None or flip.after is None:
        return []
    before = {(one.category, one.text) for one in _warnings(flip.before)}
    new = {
        (one.category, one.text): one
        for one in _warnings(flip.after)
        if (one.category, one.text) not in before
    }
    in_order = sorted(new.values(), key=lambda one: not one.script_line)
    return [_new_warning(flip, one) for one in in_order[:MOST_NEW]]


def new_warning_words(flip: Flip | None) -> str:
    """A sentence of ours that says that there is a new warning. It has a category only if Python has it."""
    if flip is None:
        return ""
    categories = (one.category for one in new_warnings_of(flip))
    category = next((name for name in categories if _is_of_python(name)), None)
    if category is None:
        return ""
    return f"With {flip.package} {flip.newer} the script gets a new {category}; {flip.older} gives none."


def warning_text(warning: NewWarning) -> str:
    """The warning as Python prints it. Untrusted text."""
    return f"{warning.category}: {warning.text}"


def _warnings(job: JobPart) -> Iterable[CapturedWarning]:
    """The warnings of the first counted attempt that ended."""
    attempt = next((one for one in job.attempts if one.counted and one.outcome), None)
    return [] if attempt is None else warnings_in(attempt.warnings, attempt.stderr)


def _new_warning(flip: Flip, warning: CapturedWarning) -> NewWarning:
    return NewWarning(
        package=flip.package[:200],
        older=flip.older[:200],
        newer=flip.newer[:200],
        category=warning.category[:200],
        text=warning.text[:MOST_TEXT],
        line=warning.script_line or None,
    )


def _is_of_python(category: str) -> bool:
    kind = getattr(builtins, category, None)
    return isinstance(kind, type) and issubclass(kind, Warning)
