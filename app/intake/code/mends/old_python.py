"""Rewrites the syntax of Python 2 that today's parser refuses, beside `print`. Lines keep their numbers."""

from __future__ import annotations

import re

# A string or a comment, which stay, or the old form.
_STRING = (
    r"(?P<string>\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*+\"\"\"|'''(?:[^\\']|\\.|'(?!''))*+'''"
    r"|\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'|#[^\n]*+)"
)
_OLD = re.compile(
    rf"{_STRING}"
    r"|(?P<caught>\bexcept[ \t]{1,4}(?:[\w.]{1,80}|\([\w., \t]{1,200}\))),[ \t]{0,4}"
    r"(?P<name>[A-Za-z_]\w{0,40})(?=[ \t]{0,4}:)"
    r"|(?P<unequal><>)"
    r"|`(?P<shown>[\w.()\[\] +*/-]{1,80})`"
    r"|(?<![\w.])(?<![eE][+-])0(?P<octal>[0-7]{1,20})(?![\w.])"
    r"|(?<![\w.])(?P<long>\d{1,60})[lL]\b"
    r"|(?P<raised>\braise[ \t]{1,4}[A-Za-z_][\w.]{0,80}),[ \t]{0,4}(?P<message>[^\s#][^\n#]{0,300})",
    re.DOTALL,
)
_WORDS = ("except", "<>", "`", "raise")
_NEW_FORMS = {
    "caught": "{caught} as {name}",
    "unequal": "!=",
    "shown": "repr({shown})",
    "octal": "0o{octal}",
    "long": "{long}",
    "raised": "{raised}({message})",
}
_MOST_CHARACTERS = 60_000


def may_be_old(text: str) -> bool:
    """False if the text has none of the words of such syntax."""
    return any(word in text for word in _WORDS)


def with_new_syntax(text: str) -> tuple[str, int]:
    """The text as today's Python writes it, and the number of places."""
    if len(text) > _MOST_CHARACTERS:
        return text, 0
    count = 0

    def rewrite(match: re.Match[str]) -> str:
        nonlocal count
        if match["string"] is not None:
            return match[0]
        count += 1
        return _new_form(match)

    return _OLD.sub(rewrite, text), count


def _new_form(match: re.Match[str]) -> str:
    groups = {name: text for name, text in match.groupdict().items() if text is not None}
    form = next(form for name, form in _NEW_FORMS.items() if name in groups)
    return form.format(**{name: text.rstrip() for name, text in groups.items()})
