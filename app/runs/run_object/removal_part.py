"""A removal in a newer version, as run objects, changes and bisections show it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from app.judging.cause.removals import ANNOUNCED, Removal

MOST_TEXT = 500


class RemovalPart(BaseModel):
    """Something that `older` of `package` has and `newer` lacks.

    If the older version warned of it, `cause` is `announced`, and `category` and `text` are those of its
    warning: untrusted text, cut short. Else it is `api_removed`, and they are empty. `line` is the line of
    the script that fails; null if it is not known.
    """

    model_config = ConfigDict(frozen=True)

    cause: str = ANNOUNCED
    package: str = Field(max_length=200)
    older: str = Field(max_length=200)
    newer: str = Field(max_length=200)
    category: str = Field(default="", max_length=200)
    text: str = Field(default="", max_length=MOST_TEXT)
    line: int | None = None


def removal_part(removal: Removal | None) -> RemovalPart | None:
    """The part of a removal; None if there is none."""
    if removal is None:
        return None
    warning = removal.warning
    return RemovalPart(
        cause=removal.cause,
        package=removal.package,
        older=removal.older,
        newer=removal.newer,
        category="" if warning is None else warning.category,
        text="" if warning is None else warning.text[:MOST_TEXT],
        line=removal.line or None,
    )


def without_warning(part: RemovalPart | None) -> RemovalPart | None:
    """The part without the text of the warning and the line of the script."""
    return None if part is None else part.model_copy(update={"text": "", "line": None})


def removal_words(part: RemovalPart) -> str:
    """One sentence for it. It has names and versions of packages, and nothing of the warning's text."""
    if part.cause == ANNOUNCED:
        return (
            f"{part.package} {part.older} warned that this will change, and {part.package} {part.newer} "
            "no longer takes it."
        )
    return (
        f"{part.package} {part.newer} no longer has what {part.package} {part.older} had. "
        "No warning of it was seen in these attempts."
    )


def warning_words(part: RemovalPart) -> str:
    """The warning of the older version as Python prints it; empty without one. Untrusted text."""
    return f"{part.category}: {part.text}" if part.category else ""
