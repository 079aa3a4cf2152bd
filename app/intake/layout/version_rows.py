"""Reads tables and lists of versions and their results: `- 1.24: 2 (ok)` above `- 1.25: 3 (wrong)`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.intake.claim.stated_place import NamedVersion, version_named
from app.intake.snippets.parts import Part, PartKind
from app.intake.words.vocabulary import is_printed_line, strip_quotes

_NAME = r"(?:[A-Za-z][\w-]{1,20}(?:[ =]{1,3}|[ ]?[@v]))"
_RELEASE = r"v?\d{1,4}\.\d{1,3}(?:\.(?:\d{1,4}|x)\w{0,6})?(?:rc\d|[ab]\d)?"
_NEWEST = r"(?:main|master|nightly|trunk|HEAD|dev(?:elopment)?)"
_VERSION = (
    rf"[`*_]{{0,3}}(?:(?:with|on|in|under|version|release) )?(?:{_NAME}?{_RELEASE}|{_NEWEST})[`*_]{{0,3}}"
)
_ROW = re.compile(
    rf"[ \t]*(?:[-*+•] |\d[.)] |#{{1,2}} ?)?(?P<version>{_VERSION})[ \t]*"
    r"(?::|-{1,2}>|=>|=|→|⇒|—|–)[ \t]*(?P<rest>\S.*)$",
    re.IGNORECASE,
)
_NAMED = re.compile(rf"[`*_ ]{{0,3}}(?!(?:with|on|in|under|x|n)\b){_NAME}(?=v?\d)", re.IGNORECASE)
_LONG_MINOR = re.compile(r"\b[1-9]\d?\.[1-9]0$")
_WHOLE = re.compile(_VERSION, re.IGNORECASE)
_GOOD = (
    r"(?:ok(?:ay)?|correct[eo]?|right|good|fine|expected|as expected|works|bien|richtig|gut|certo|juste"
    r"|верно|正确|正常|✅|✔️?|✓|👍|:white_check_mark:"
    r"|:heavy_check_mark:|:\+1:)"
)
_BAD = (
    r"(?:wrong|incorrect[eo]?|bug|buggy|bad|broken|fails?|regress\w*|unexpected|not ok|mal|falsch|errado|faux"
    r"|неверно|错误|✗|✘|❌|👎|:x:|:-1:"
    r"|:no_entry\w*:)"
)
_MARK_BEHIND = re.compile(
    rf"[\s,;(\[—–-]{{1,4}}(?:<-+ ?)?(?:is )?(?:(?P<good>{_GOOD})|(?P<bad>{_BAD}))[)\].!]{{0,2}}$",
    re.IGNORECASE,
)
_MARK_BEFORE = re.compile(rf"(?:(?P<good>{_GOOD})|(?P<bad>{_BAD}))[\s:,—–-]{{1,3}}", re.IGNORECASE)
_MARK = re.compile(rf"[*_(\s]*(?:(?P<good>{_GOOD})|(?P<bad>{_BAD}))[*_)\s!.]{{0,8}}", re.IGNORECASE)
_SAYS = re.compile(
    r"(?:it )?(?:prints?|printed|gives?|gave|returns?|returned|shows?|result:?) ", re.IGNORECASE
)
_OF_VERSIONS = re.compile(
    r"[\s*_`]*(?:versions?|releases?|(?:py)?torch|numpy|scipy|pandas|python|cpython|sympy|jax|networkx"
    r"|pydantic|pillow|sklearn|scikit-learn|matplotlib|numba|\w{2,20} versions?)[\s*_`]*",
    re.IGNORECASE,
)
_RULE = re.compile(r"[ \t]*+\|?(?:[ \t]*+:?-++:?[ \t]*+\|?)++[ \t]*+")
_COMMENT = re.compile(r"[ \t]*#")
_THE_NEWEST = NamedVersion("", (9_999,))
_MENDED = re.compile(
    r"\b(?:fixed|mended|solved|resolved|corrected) (?:in|by|on|with|since|now)\b"
    r"|\b(?:right|correct|fine|works?) (?:again |now )?since\b|\bbackport\w*\b",
    re.IGNORECASE,
)
_MOST_PROSE = 20_000
_MOST_LINE = 400
_MOST_ROWS = 40
_MOST_LINES = 2_000


@dataclass(frozen=True, slots=True)
class _Row:
    """The result of a version. `is_right`: whether a mark beside it says so; None without a mark."""

    version: NamedVersion
    value: str
    is_right: bool | None
    is_sure: bool


def with_results_of_versions(parts: Sequence[Part]) -> list[Part]:
    """The parts, in which a table or list of versions is an output of the version that is wrong.

    Marks say which one that is, else it is the newest. The results of the others are elsewhere.
    """
    if not any(part.kind is PartKind.CODE for part in parts):
        return [*parts]
    prose = "\n".join(part.text for part in parts if part.kind is PartKind.PROSE)
    is_mended = _MENDED.search(prose[:_MOST_PROSE]) is not None
    blocks = [part.text for part in parts if part.kind is PartKind.OUTPUT]
    result: list[Part] = []
    for group in _groups(parts):
        pairs = [_rows_of(part) for part in group]
        rows = [row for rows, _ in pairs for row in rows]
        # The newest one may be the right one, unless marks tell.
        has_marks = any(row.is_right is not None for row in rows)
        outputs = [] if is_mended and not has_marks else _outputs(rows, group[0])
        # A block beside them shows what happens.
        outputs = outputs if not blocks or any(outputs[0].text in each for each in blocks if outputs) else []
        if outputs and group[0].kind is PartKind.PROSE:
            result += [
                replace(part, text=rest) for part, (_, rest) in zip(group, pairs, strict=True) if rest.strip()
            ]
        else:
            result += group
        result += outputs
    return result


def is_result_of_version(line: str) -> bool:
    """True for a line such as `1.25.0: 1.5`."""
    return _row(line) is not None


def _groups(parts: Sequence[Part]) -> list[list[Part]]:
    """The parts, in which paragraphs in a row are one group: each item of a list is a paragraph."""
    groups: list[list[Part]] = []
    for part in parts:
        above = groups[-1][-1] if groups else None
        is_next = above is not None and above.kind is part.kind is PartKind.PROSE
        if is_next and above is not None and above.heading == part.heading:
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups


def _rows_of(part: Part) -> tuple[list[_Row], str]:
    """The rows of a paragraph or of the comments of a script, and the lines that are no rows."""
    if part.kind not in {PartKind.PROSE, PartKind.CODE} or part.transcript or part.about_environment:
        return [], part.text
    lines = part.text.split("\n")[:_MOST_LINES]
    if part.kind is PartKind.CODE:
        return [row for line in lines if _COMMENT.match(line) and (row := _row(line))], ""
    if table := _table(lines):
        return table
    pairs = [(line, _row(line)) for line in lines]
    return [row for _, row in pairs if row], "\n".join(line for line, row in pairs if not row)


def _row(line: str) -> _Row | None:
    match = _ROW.match(line[:_MOST_LINE])
    return None if match is None else _row_of(match["version"], match["rest"], "", is_named=False)


def _row_of(version: str, words: str, mark: str, *, is_named: bool) -> _Row | None:
    version = version.strip("`*_ ")
    named = _THE_NEWEST if re.fullmatch(_NEWEST, version, re.IGNORECASE) else version_named(version)
    if named is None:
        return None
    words = words.strip()
    behind, before = _MARK_BEHIND.search(words), _MARK_BEFORE.match(words)
    marked = _MARK.fullmatch(mark) or behind or before
    if behind:
        words = words[: behind.start()]
    elif before:
        words = words[before.end() :]
    words = _SAYS.sub("", words.strip(), count=1).strip()
    is_quoted = len(words) > 2 and words[0] == words[-1] == "`"
    value = strip_quotes(words)
    if not value or value[0] in "~≈" or _MARK.fullmatch(value) or not (is_quoted or is_printed_line(value)):
        return None
    # No argument is written as `1.20`.
    is_named = is_named or _NAMED.match(version) is not None or _LONG_MINOR.search(version) is not None
    is_sure = is_named or marked is not None or bool(named.package) or version.count(".") > 1
    return _Row(named, value, None if marked is None else marked["good"] is not None, is_sure)


def _table(lines: Sequence[str]) -> tuple[list[_Row], str] | None:
    """The rows of a table with a column of versions, and the other lines of its paragraph."""
    for at in range(1, len(lines)):
        if "|" not in lines[at] or "|" not in lines[at - 1] or not _RULE.fullmatch(lines[at][:_MOST_LINE]):
            continue
        end = at + 1
        while end < len(lines) and "|" in lines[end]:
            end += 1
        table = [_cells(lines[at - 1]), *map(_cells, lines[at + 1 : end][:_MOST_ROWS])]
        if len(table) == 2 and len(table[0]) == len(table[1]):
            table = [list(column) for column in zip(*table, strict=True)]
        rows = list(_rows_of_table(table))
        if rows:
            return rows, "\n".join([*lines[: at - 1], *lines[end:]])
    return None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[:_MOST_LINE].strip().strip("|").split("|")]


def _rows_of_table(table: Sequence[Sequence[str]]) -> Iterator[_Row]:
    heads, rows = table[0], [row for row in table[1:] if len(row) == len(table[0])]
    columns = [[row[at] for row in rows] for at in range(len(heads))]
    if len(heads) > 2:
        # The same cell in all rows, such as `Linux`, tells nothing apart.
        various = [at for at, cells in enumerate(columns) if len(set(cells)) > 1]
        heads, rows = [heads[at] for at in various], [[row[at] for at in various] for row in rows]
        columns = [columns[at] for at in various]
    versions = [at for at, cells in enumerate(columns) if cells and all(map(_WHOLE.fullmatch, cells))]
    marks = [at for at, cells in enumerate(columns) if cells and all(map(_MARK.fullmatch, cells))]
    values = [at for at in range(len(heads)) if at not in {*versions, *marks}]
    values = [at for at in values if all(columns[at])]
    if len(versions) > 1 and not values:
        # Values may look like versions.
        versions, values = versions[:1], versions[1:]
    if len(versions) != 1 or len(values) != 1 or len(marks) > 1:
        return
    name = heads[versions[0]]
    package = name if _OF_VERSIONS.fullmatch(name) and "ersion" not in name else ""
    for row in rows:
        version = row[versions[0]]
        own = version if any(map(str.isalpha, version.lstrip("v"))) else f"{package} {version}"
        mark = row[marks[0]] if marks else ""
        result = _row_of(own, row[values[0]], mark, is_named=_OF_VERSIONS.fullmatch(name) is not None)
        if result:
            yield result


def _outputs(rows: Sequence[_Row], part: Part) -> list[Part]:
    """The output of the version that is wrong, and those of the others; empty if nothing tells them apart."""
    packages = {row.version.package for row in rows if row.version != _THE_NEWEST}
    if len(rows) < 2 or len(packages) != 1:
        return []
    if not any(row.is_sure for row in rows):
        # The numbers may be arguments.
        return []
    right = {row.value for row in rows if row.is_right is True}
    wrong = {row.value for row in rows if row.is_right is False}
    newest = max(rows, key=lambda row: (row.version.release, row.version.patch))
    wrong = wrong - right or {newest.value} - right
    right = right or {row.value for row in rows} - wrong
    if len(wrong) != 1 or not right:
        return []
    (bug,) = wrong
    bad = [row for row in rows if row.value == bug]
    good = [row for row in rows if row.value in right]
    since = min((row.version for row in bad), key=_order)
    is_since = since != _THE_NEWEST and all(_order(row.version) < _order(since) for row in good)
    by_value = {row.value: row for row in good}
    return [
        Part(PartKind.OUTPUT, bug, part.heading, f"{_words(since) if is_since else 'It'} prints:"),
        *(
            Part(PartKind.OUTPUT, value, part.heading, f"{_words(row.version)} prints:", elsewhere=True)
            for value, row in by_value.items()
        ),
    ]


def _order(version: NamedVersion) -> tuple[tuple[int, ...], int]:
    return version.release, version.patch


def _words(version: NamedVersion) -> str:
    if version == _THE_NEWEST:
        return "The newest one"
    return f"{version}.{version.patch}" if version.patch else str(version)
