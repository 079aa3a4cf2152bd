"""Shows terminal colours as CSS classes. All text is escaped, and other terminal sequences have no effect."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from app.visible_text import visible

_COLOUR = re.compile(r"\x1b\[([0-9;]{0,40})m")
_BOLD, _PLAIN = 1, {22, 39, 49}
# A text that changes its colour at every character would be mostly markup.
MOST_CHANGES = 2_000


def with_colours(text: str) -> Markup:
    """The text as HTML with the sixteen terminal colours and bold. The rest looks as `visible` shows it."""
    pieces = _COLOUR.split(text, maxsplit=MOST_CHANGES)
    parts = [escape(visible(pieces[0]))]
    colour, bold = "", False
    for codes, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        colour, bold = _state_after(codes, colour, bold=bold)
        words = escape(visible(piece))
        classes = " ".join(filter(None, (colour, "strong" if bold else "")))
        is_styled = classes and words
        parts.append(Markup('<span class="{}">{}</span>').format(classes, words) if is_styled else words)
    return Markup("").join(parts)


def _state_after(codes: str, colour: str, *, bold: bool) -> tuple[str, bool]:
    """The colour and the weight after a sequence.

    An extended colour ends the sequence, because its numbers would be read as other codes.
    """
    for word in codes.split(";"):
        code = int(word or 0) if len(word) < 4 else -1
        if code in {38, 48}:
            return "", bold
        if code == 0:
            colour, bold = "", False
        elif code == _BOLD:
            bold = True
        elif code in _PLAIN:
            colour, bold = ("", bold) if code != 22 else (colour, False)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            colour = f"ansi{code % 10}"
    return colour, bold
