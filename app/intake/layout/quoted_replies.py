"""Leaves out what a report quotes of somebody else above its own script."""

from __future__ import annotations

from collections.abc import Sequence

from app.intake.snippets.transcripts import take_apart
from app.intake.text.markdown import Block


def without_quoted_replies(blocks: Sequence[Block]) -> list[Block]:
    """The blocks without quotations that show an output and no script, above the first script.

    The author answers there. A report that is a quotation as a whole stays.
    """
    own = next(
        (
            at
            for at, block in enumerate(blocks)
            if block.kind == "code" and block.fenced and not block.quoted and take_apart(block.text).code
        ),
        None,
    )
    quoted = [block for block in blocks[: own or 0] if block.quoted]
    has_output = any(block.kind == "code" for block in quoted)
    if own is None or not has_output or any(_holds_script(block) for block in quoted):
        return list(blocks)
    return [block for at, block in enumerate(blocks) if at >= own or not block.quoted]


def _holds_script(block: Block) -> bool:
    return block.kind == "code" and bool(take_apart(block.text).code)
