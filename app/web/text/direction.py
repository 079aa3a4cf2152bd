"""Code stays in its order from left to right, though words in it are written from right to left."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from app.visible_text import visible

_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_WORDS = re.compile(f"[{_RIGHT_TO_LEFT}]+(?: +[{_RIGHT_TO_LEFT}]+)*")


def source_code(text: str) -> Markup:
    """A code as HTML. Words from right to left are isolated, so they move no bracket and no number."""
    code = visible(text)
    parts, end = [], 0
    for words in _WORDS.finditer(code):
        parts += [escape(code[end : words.start()]), Markup("<bdi>{}</bdi>").format(words[0])]
        end = words.end()
    return Markup().join([*parts, escape(code[end:])])
