"""Reads the values that a comment gives for two versions. Every pattern is linear."""

from __future__ import annotations

import re

_BY_VERSION = re.compile(
    r"(?<![\w.])(?P<value>True|False|None|nan|inf|[-+]?\d[\d.]{0,30}(?:e[-+]?\d{1,5})?"
    r"|(?:tensor|array)\([^()\n]{0,80}\)) "
    r"(?:is what i get |always )?(?:(?P<since>since|from|after|as of)|with|in|on|for|under|until"
    r"|before|up to) "
    r"(?P<version>(?:`?\w[\w-]{1,20}`? ?)?(?:==|>=|<=|>|<|~=)? ?v?\d{1,4}\.(?:x\b|\d{1,4}(?:\.\d{1,4})?))",
    re.IGNORECASE,
)
# `numpy 1.26: True, numpy 2.x: False`.
_VERSION_FIRST = re.compile(
    r"(?<![\w.])(?P<version>(?:(?:with|in|on|for|since|from|until|before|under) )?(?:[a-z][\w-]{1,20} )?"
    r"(?:[<>=~]=?)? ?v?\d{1,4}\.(?:x\b|\d{1,4}(?:\.\d{1,4})?)) ?(?::|->|=>|→|gives|gave|prints|printed"
    r"|returns|returned) ?(?P<value>True|False|None|nan|inf|[-+]?\d[\d.]{0,30}(?:e[-+]?\d{1,5})?(?![\w.])"
    r"|(?:tensor|array)\([^()\n]{0,80}\)|\[[^\[\]\n]{0,80}\])",
    re.IGNORECASE,
)
_RELEASE = re.compile(r"(?<![\w.])\d{1,4}(?:\.\d{1,4})*|(?<=v)\d{1,4}(?:\.\d{1,4})*")


def values_by_version(comment: str) -> tuple[str, str] | None:
    """(value now, value before) of `True with np==1.26, False since np>=2.0`; None for any other comment."""
    values = {
        _RELEASE.findall(match["version"])[0]: match["value"]
        for match in (*_VERSION_FIRST.finditer(comment), *_BY_VERSION.finditer(comment))
    }
    newest = max(values, key=lambda version: tuple(map(int, version.split("."))), default="")
    if len(values) != 2:
        return None
    (older,) = values.keys() - {newest}
    now, before = values[newest], values[older]
    return (now, before) if now != before else None
