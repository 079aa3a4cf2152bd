"""Removes HTML tags from prose. Prints of Python, such as `<NA>`, are text."""

from __future__ import annotations

import re

_OF_PYTHON = (
    r"(?:(?:class|type|enum|module|function|bound method|built-in|method|generator|coroutine|frozen|unbound"
    r"|slot wrapper|attribute|property|contextlib|weakref|locked|unlocked) [\w'\"]"
    r"|(?:NA|NaT|lambda|module|listcomp|dictcomp|setcomp|genexpr|locals|stdin|string)>"
    r"|[\w.]{1,80} (?:object|instance)\b|[A-Za-z_]\w{0,60}(?:\.\w{1,60}){1,3}: [^<>\n]{1,60}>)"
)
_TAG = re.compile(rf"<(?!{_OF_PYTHON})/?[A-Za-z][^<>\n]{{0,200}}>")
# In a sentence, this is how some people write code.
_CODE = re.compile(r"<(?P<tag>code|tt|kbd)>(?P<code>[^<>`\n]{1,300})</(?P=tag)>", re.IGNORECASE)
_TICKS = re.compile(r"`+")


def without_tags(text: str) -> str:
    """The text of a paragraph without HTML tags, its code spans as they are."""
    text = _CODE.sub(r"`\g<code>`", text) if "<" in text else text
    if "<" not in text or "`" not in text:
        return _TAG.sub("", text)
    rest, at = list[str](), 0
    for start, end in _code_spans(text):
        rest += [_TAG.sub("", text[at:start]), text[start:end]]
        at = end
    return "".join([*rest, _TAG.sub("", text[at:])])


def _code_spans(text: str) -> list[tuple[int, int]]:
    """The places of the code spans with their backticks. As many backticks close a span as open it."""
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text)]
    closing, later = list[int | None](), dict[int, int]()
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number][1] - runs[number][0]
        closing.append(later.get(length))
        later[length] = number
    closing.reverse()
    spans, number = list[tuple[int, int]](), 0
    while number < len(runs):
        end = closing[number]
        if end is not None:
            spans.append((runs[number][0], runs[end][1]))
        number = number + 1 if end is None else end + 1
    return spans
