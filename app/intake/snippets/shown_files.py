"""Files that a report shows beside its script: data that the script reads, and modules that it imports.

A block is such a file if the words above it, or its first line, name it, and another block needs it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.intake.reading import Need, NeedKind, Repair
from app.intake.text.markdown import Block

_SUFFIXES = (
    "csv|tsv|txt|dat|data|json|jsonl|ndjson|ya?ml|toml|ini|cfg|conf|xml|html?|md|rst|py|log|in|sql|lark|proto"
    "|env|ics|svg|tex|bib|po|tpl|j2|srt|vcf|gml|net|pdb|xyz"
)
_NAME = rf"(?P<name>(?:\./)?(?:[\w-]{{1,60}}/){{0,4}}[\w.-]{{1,80}}\.(?:{_SUFFIXES}))"
# The words beside the name in a line of nothing else: `**data/a.json**`, `1. helper.py`, `The file a.toml:`.
_AROUND = frozenset(
    (
        *("the", "my", "a", "our", "this", "file", "files", "content", "contents", "of", "module", "modules"),
        *("input", "inputs", "data", "datei", "inhalt", "von", "der", "fichier", "le", "archivo", "el", "de"),
        *("du", "\u0444\u0430\u0439\u043b"),
    )
)
_ANY_NAME = re.compile(rf"(?<![\w./-]){_NAME}(?![\w/-])", re.IGNORECASE)
_HOLDS = re.compile(
    r"\b(?:contain\w*|contents?|looks? (?:like|as)|holds?|consists? of"
    r"|(?:saved?|stored?)\b.{0,20}\b(?:as|in|to)|put\b.{0,30}\bin(?:to)?"
    r"|(?:named|called)|create\w*|enthält|sieht so aus|contient|contiene|inhalt|содержит)\b",
    re.IGNORECASE,
)
_SHOWS_OUTPUT = re.compile(
    r"\b(?:outputs?|prints?|gives?|results?|errors?|gets?|got|returns?|raises?|traceback|fails?|runs?|running"
    r"|ausgabe|fehler|erreur|salida)\b",
    re.IGNORECASE,
)
# `# helper.py` and the like on the first line.
_FIRST_LINE = re.compile(
    rf"[ \t]*(?:#+|//|--|;|<!--)[ \t]*(?:file(?:name)?[: ][ \t]*)?[`'\"]?{_NAME}[`'\"]?:?[ \t]*+(?:-->)?"
    r"[ \t]*+",
    re.IGNORECASE,
)
_CAT = re.compile(
    rf"[ \t]*(?:\$|%|>|\u276f|[\w@~:/-]{{1,60}}[$#])[ \t]*cat[ \t]+{_NAME}[ \t]*", re.IGNORECASE
)
_PROMPT = re.compile(r"[ \t]*(?:\$|%|\u276f|[\w@~:/-]{1,60}[$#])[ \t]")
# No more blocks are tried as files.
_MOST_TRIES = 12
_MOST_TEXT = 60_000
_MOST_LINE = 400


def take_files(blocks: Sequence[Block]) -> tuple[dict[str, str], list[Block]]:
    """The files that the blocks show, by the paths that the script uses, and the blocks without them."""
    files: dict[str, str] = {}
    rest: list[Block] = []
    tries = _MOST_TRIES
    for at, block in enumerate(blocks):
        block_left: Block | None = block
        file = _file_of(block, blocks[at - 1] if at else None) if block.kind == "code" and tries else None
        if file is not None:
            tries -= 1
            name, text, without = file
            others = [each.text for each in blocks if each is not block and each.kind == "code"]
            path = _path_in(others, name)
            if path is not None and path not in files and len(text) <= _MOST_TEXT:
                files[path] = text
                block_left = without
        if block_left is not None:
            rest.append(block_left)
    return files, rest


def _file_of(block: Block, above: Block | None) -> tuple[str, str, Block | None] | None:
    """The file that the block may be: its name, its text, and the block without it."""
    first, _, below = block.text.partition("\n")
    if (match := _FIRST_LINE.fullmatch(first[:_MOST_LINE])) and below.strip():
        # A comment may not be part of the format.
        is_python = match["name"].endswith(".py")
        return match["name"], block.text if is_python else below, None
    if (match := _CAT.fullmatch(first[:_MOST_LINE])) and below.strip():
        lines = below.split("\n")
        end = next((at for at, line in enumerate(lines) if _PROMPT.match(line)), len(lines))
        session = "\n".join(lines[end:])
        without = replace(block, text=session) if session.strip() else None
        return match["name"], "\n".join(lines[:end]), without
    name = _name_above(above)
    return (name, block.text, None) if name and block.text.strip() else None


def _name_above(above: Block | None) -> str | None:
    """The file that the last line above a block says the block is."""
    if above is None or above.kind == "code":
        return None
    line = next((line for line in reversed(above.text.split("\n")) if line.strip()), "")[-_MOST_LINE:]
    names = {match["name"] for match in _ANY_NAME.finditer(line)}
    if len(names) != 1:
        return None
    name = names.pop()
    beside = re.findall(r"[^\W\d_]+", line.replace(name, " ").lower())
    is_name = all(word in _AROUND for word in beside)
    return name if is_name or (_HOLDS.search(line) and not _SHOWS_OUTPUT.search(line)) else None


def _path_in(codes: Sequence[str], name: str) -> str | None:
    """The relative path by which other code opens a file, or the file of a module that it imports."""
    name = name.removeprefix("./")
    base = name.rpartition("/")[2]
    path = re.compile(rf"['\"](?:\./)?(?P<path>(?:[\w-]{{1,60}}/){{0,4}}{re.escape(base)})['\"]")
    for code in codes:
        if match := path.search(code):
            return match["path"]
    stem = base.removesuffix(".py")
    if stem == base or not stem.isidentifier():
        return None
    used = re.compile(
        rf"^[ \t]*(?:from \.?{stem} import\b|import {stem}\b|from \. import .*\b{stem}\b)", re.MULTILINE
    )
    return base if any(used.search(code) for code in codes) else None


def line_that_writes(files: Mapping[str, str]) -> str:
    """One line of Python that writes the files into the folder of the script."""
    steps: list[str] = []
    for path, text in files.items():
        folder = path.rpartition("/")[0]
        if folder:
            steps.append(f"__import__('os').makedirs({folder!r}, exist_ok=True)")
        content = text if text.endswith("\n") else text + "\n"
        steps.append(f"open({path!r}, 'w', encoding='utf-8', newline='').write({content!r})")
    if any(path.endswith(".py") for path in files):
        steps.append("__import__('importlib').invalidate_caches()")
    return "; ".join(steps)


def repairs_of(files: Mapping[str, str]) -> tuple[Repair, ...]:
    """A note for each file."""
    return tuple(
        Repair(code="shown_file", detail=f"Wrote {path}, as the report shows it, before the script starts.")
        for path in files
    )


def without_shown(needs: Sequence[Need], files: Mapping[str, str]) -> tuple[Need, ...]:
    """The needs without the modules that the report shows."""
    modules = {path.removesuffix(".py") for path in files if path.endswith(".py")}
    return tuple(need for need in needs if need.kind is not NeedKind.PACKAGE or need.name not in modules)
