"""Short forms of untrusted text for a page: one line, a beginning, an address."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

from markupsafe import Markup, escape

from app.visible_text import visible


def one_line(text: str, most: int = 160) -> str:
    """The first words of a text on one line, for a table's cell."""
    return _one_line(text[: 4 * most], most)


# The cells of one table often repeat the same text.
@lru_cache(maxsize=4096)
def _one_line(text: str, most: int) -> str:
    flat = " ".join(visible(text).split())
    return flat if len(flat) <= most else flat[:most].rstrip() + "…"


# The first ones only: mark-up weighs more than the title.
MOST_CODES = 4
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def with_code(title: str) -> Markup:
    """A title of one line as HTML. Words between backticks are code, as in an issue; nothing else is."""
    if "`" not in title:
        return escape(title)
    parts, end = [], 0
    for match in islice(_CODE.finditer(title), MOST_CODES):
        parts += [escape(title[end : match.start()]), Markup("<code>{}</code>").format(match[2].strip())]
        end = match.end()
    return Markup().join([*parts, escape(title[end:])])


def clip(text: str, most: int = 800) -> str:
    """The beginning of a text of several lines, for a table's cell."""
    return visible(text) if len(text) <= most else visible(text[:most]).rstrip() + "…"


def short_url(url: str) -> str:
    """An address without the parts that say nothing: `github.com/pytorch/pytorch/issues/1`."""
    return one_line(re.sub(r"^https?://(?:www\.)?", "", url), 60)
