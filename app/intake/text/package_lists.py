"""Reads lists of packages in a report: `pip list`, `pip freeze`, `conda list`, `collect_env`."""

from __future__ import annotations

import re

# Matches `numpy==1.26.4`, `[pip3] numpy==1.26.4`, `[conda] numpy  1.26.4  pypi_0  pypi`.
_FROZEN = re.compile(
    r"^[ \t>*-]{0,8}(?:\[(?:pip3?"
    r"|conda)\][ \t]+)?(?P<name>[A-Za-z][\w.-]{0,60})==(?P<version>\d[\w.+!-]{0,40})[ \t]*$",
    re.MULTILINE,
)
_CONDA_LINE = re.compile(
    r"^[ \t>]{0,8}(?P<tag>\[conda\][ \t]+)?(?P<name>[a-z_][\w.-]{0,60})[ \t]+"
    r"(?P<version>\d[\w.+!-]{0,40})[ \t]+(?P<build>[\w.]{1,60})(?:[ \t]+[\w.:/<>-]{1,60})?[ \t]*$",
    re.MULTILINE,
)
_PIP_TABLE = re.compile(
    r"^[ \t>]{0,8}Package[ \t]+Version[^\n]{0,60}\n[ \t>]{0,8}-{3,}[ \t]+-{3,}[^\n]{0,80}\n", re.MULTILINE
)
_ROW = re.compile(
    r"[ \t>]{0,8}(?P<name>[A-Za-z][\w.-]{0,60})[ \t]+(?P<version>\d[\w.+!-]{0,40})(?:[ \t]+\S{1,200})?[ \t]*$"
)
_CONDA_TABLE = re.compile(r"^[ \t>]{0,8}#[ \t]*Name[ \t]+Version[ \t]+Build", re.MULTILINE)
_MOST_PACKAGES = 500
# A single `name==1.0` in prose is no list.
_LEAST_FROZEN = 2


def listed_packages(text: str) -> dict[str, str]:
    """The versions in a report's lists, by the normalised name of the package."""
    versions: dict[str, str] = {}
    frozen = list(_FROZEN.finditer(text)) if "==" in text else []
    if len(frozen) >= _LEAST_FROZEN or any("[pip" in hit[0] or "[conda" in hit[0] for hit in frozen):
        for hit in frozen[:_MOST_PACKAGES]:
            versions.setdefault(_name(hit["name"]), hit["version"])
    table = _CONDA_TABLE.search(text)
    for hit in _CONDA_LINE.finditer(text) if table is not None or "[conda]" in text else ():
        if len(versions) < _MOST_PACKAGES and (
            hit["tag"] or (table is not None and hit.start() > table.start())
        ):
            versions.setdefault(_name(hit["name"]), hit["version"])
    head = _PIP_TABLE.search(text) if "Package" in text else None
    if head:
        for line in text[head.end() :].split("\n")[:_MOST_PACKAGES]:
            row = _ROW.match(line)
            if row is None:
                break
            versions.setdefault(_name(row["name"]), row["version"])
    return versions


def _name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
