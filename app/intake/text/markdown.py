"""Splits a report's Markdown into code, prose and headings. HTML comments are removed."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from markdown_it import MarkdownIt

from app.intake.code.syntax import parses
from app.intake.sessions.joined_lines import fenced_joined_lines
from app.intake.text.bare_code import fenced_bare_code
from app.intake.text.bare_sessions import fenced_sessions
from app.intake.text.bare_statements import fenced_arrows, fenced_bare_statements, fenced_quotation
from app.intake.text.notebook_cells import sessions_of_cells
from app.intake.text.open_fences import closed_fences, separated_fences
from app.intake.text.tags import without_tags
from app.intake.text.tick_blocks import fenced_ticks

PYTHON_TAGS = frozenset(
    {"", "python", "py", "python3", "python2", "py3", "pycon", "ipython", "ipython3", "pytorch", "code"}
)
_FENCE = re.compile(r"[ >]*+(`{3,}+(?=[^`]*$)|~{3,}+)[ \t]*+(.*)$")
_CODE_START = re.compile(
    r"(?:import|from|def|class|print|with|for|if|try|async|assert)\b|@|[A-Za-z_][\w.]* ?(?:=|\()"
)
# Four words in a row. No line of Python begins so, but for the keywords above.
_SENTENCE = re.compile(r"[^\W\d_][\w'’-]*,?(?: [^\W\d_][\w'’-]*[,;]?){3}(?:[\s.:!?]|$)")
_QUOTED_AGAIN = re.compile(r"^( {0,3}>)(?: ?>)+")
_MOST_NESTING = 20
# Lines below this number are not read: such a text is a log.
MOST_LINES = 20_000
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
# The beginning of a block, after marks of quotes and lists.
_BLOCK_START = re.compile(r"[ \t>]*+(?:[-*+]|\d{1,9}[.)])?[ \t>]*$")
_PRE = re.compile(r"[ \t>]*<pre\b([^>\n]{0,200})>(.*)$", re.IGNORECASE)
_PRE_END = re.compile(r"</pre\s*>", re.IGNORECASE)
_CODE_TAG = re.compile(
    r"</?code\b[^>\n]{0,200}>|</?(?:span|b|i|em|strong|font)\b[^>\n]{0,200}>", re.IGNORECASE
)
_LANGUAGE = re.compile(r"(?:lang(?:uage)?-|lang=[\"']?|source-|highlight-)(\w{1,20})", re.IGNORECASE)
# Longer than any fence in the code itself.
_PRE_FENCE = "~" * 20
_CALL = re.compile(r"[A-Za-z_][\w.]{0,80}\(")
_FIRST_LINE = re.compile(r"(?:import|from) \w|[A-Za-z_][\w.]*(?: = |\()")
_ONE_LINE = re.compile(r"[ \t>]*```(?:(?:python|py)[ \t]++)?([^`\n]{3,2000})```[ \t]*$")


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a report.

    `kind` is `code`, `prose` or `heading`. `language` is the tag of a fence. `fenced`: the code stands in a
    fence. `quoted`: it stands behind quote marks. `failing`: statements of a session that fail in passing.
    """

    kind: str
    text: str
    language: str = ""
    fenced: bool = False
    quoted: bool = False
    failing: tuple[str, ...] = ()

    @property
    def may_be_python(self) -> bool:
        """True if the fence's tag does not exclude Python."""
        return self.language in PYTHON_TAGS


def unix_lines(text: str) -> str:
    """The text with Unix line ends and without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def may_hold_fence(text: str) -> bool:
    """False if no line of the text opens or closes a fence."""
    return "```" in text or "~~~" in text


class _Fences:
    """Follows fences, line by line."""

    def __init__(self) -> None:
        self.open: str | None = None

    def inside(self, line: str) -> bool:
        """True if the line belongs to a fence. Its first and last line do."""
        if not may_hold_fence(line):
            return self.open is not None
        match = _FENCE.match(line)
        if self.open is None:
            self.open = match[1] if match else None
            return match is not None
        if match and match[1][0] == self.open[0] and len(match[1]) >= len(self.open) and not match[2].strip():
            self.open = None
        return True


def without_comments(text: str) -> str:
    """The text without HTML comments. In code, `<!--` is only text.

    A comment in a heading or in the middle of a line ends on that line or in that paragraph. An unclosed
    comment ends with its paragraph.
    """
    if "<!--" not in text:
        return text
    lines = text.split("\n")
    goes_on = _closed_in_paragraph(lines)
    last_close = max((at for at, line in enumerate(lines) if "-->" in line), default=-1)
    fences, rest, in_comment, is_closed = _Fences(), list[str](), False, True
    for at, line in enumerate(lines):
        if in_comment and not is_closed and not line.strip():
            in_comment = False
        if not in_comment and fences.inside(line):
            rest.append(line)
            continue
        was = in_comment
        visible, in_comment = _outside_comments(line, in_comment=in_comment, inline_goes_on=goes_on[at])
        is_closed = last_close > at if in_comment and not was else is_closed
        rest.append(visible)
    return "\n".join(rest)


def _closed_in_paragraph(lines: list[str]) -> list[bool]:
    """For each line, whether a comment that it opens is closed below in the same paragraph."""
    result, closes = [False] * len(lines), False
    for at in range(len(lines) - 1, -1, -1):
        result[at] = closes
        closes = bool(lines[at].strip()) and (closes or "-->" in lines[at])
    return result


def _outside_comments(line: str, *, in_comment: bool, inline_goes_on: bool) -> tuple[str, bool]:
    """The text of a line outside comments, and whether a comment goes on below."""
    visible, at, begun, ticks = [], 0, in_comment, 0
    heading = not in_comment and _HEADING.match(line) is not None
    while True:
        mark = "-->" if in_comment else "<!--"
        place = line.find(mark, at)
        ticks += line.count("`", at, max(place, at))
        if place >= 0 and not in_comment and ticks % 2:
            visible.append(line[at : place + 4])
            at = place + 4
            continue
        if in_comment and place < 0 and not begun:
            start = at - len("<!--")
            if heading or not (inline_goes_on or _BLOCK_START.match(line[:start])):
                return "".join([*visible, line[start:]]), False
        if not in_comment:
            visible.append(line[at : place if place >= 0 else None])
        if place < 0:
            return "".join(visible), in_comment
        at, in_comment, begun = place + len(mark), not in_comment, False


def _fenced_pre(text: str) -> str:
    """The text with `<pre>` blocks as fences, unless they are unclosed or hold a fence."""
    if "<pre" not in text.lower():
        return text
    lines = text.split("\n")
    is_closed = _closed_without_fence(lines)
    fences, result, inside = _Fences(), list[str](), False
    for at, line in enumerate(lines):
        rest = line
        if not inside:
            tag = None if fences.inside(line) or not is_closed[at] else _PRE.match(line)
            if tag is None:
                result.append(line)
                continue
            language = _LANGUAGE.search(f"{tag[1]} {tag[2][:200]}")
            result += ["", f"{_PRE_FENCE}{language[1] if language else ''}"]
            inside, rest = True, tag[2]
        end = _PRE_END.search(rest)
        code = _CODE_TAG.sub("", rest[: end.start() if end else None])
        # An entity before a prompt is no text of Python.
        code = html.unescape(code) if "&gt;&gt;&gt;" in code else code
        result += [code] if code or rest == line else []
        if end:
            result += [_PRE_FENCE, "", rest[end.end() :]]
            inside = False
    return "\n".join(result)


def _closed_without_fence(lines: list[str]) -> list[bool]:
    """For each line, whether `</pre>` follows on it or below it, with no fence in between."""
    result, closes = [False] * len(lines), False
    for at in range(len(lines) - 1, -1, -1):
        closes = _PRE_END.search(lines[at]) is not None or (closes and _FENCE.match(lines[at]) is None)
        result[at] = closes
    return result


def _begins_code(words: Sequence[str]) -> bool:
    """Whether the first word behind an opening fence is no language: an import, or the name of a call."""
    return bool(words) and (words[0] in {"import", "from"} or _CALL.match(words[0]) is not None)


def _code_block(info: str, content: str, *, fenced: bool) -> Block:
    """A block of code. Code behind the opening fence is its first line, and no language."""
    words = info.strip().split(None, 1)
    language = re.sub(r"[^a-z0-9+#-]", "", words[0].lower()) if words else ""
    first = info.strip() if _begins_code(words) else words[1] if len(words) > 1 else ""
    if _FIRST_LINE.match(first) and parses(first):
        content = f"{first}\n{content}"
        language = "" if first == info.strip() else language
    if fenced and content.rstrip().endswith("```"):
        content = content.rstrip().rstrip("`") + "\n"
    return Block("code", content, language, fenced=fenced)


def _fenced_lines(text: str) -> str:
    """The text with fences on one line, ```` ```print(1)``` ````, split into lines."""
    if "```" not in text:
        return text
    fences, result = _Fences(), list[str]()
    for line in text.split("\n"):
        match = None if fences.inside(line) else _ONE_LINE.match(line)
        code = match[1].strip() if match else ""
        if _CODE_START.match(code) and parses(code):
            result += ["", _PRE_FENCE, code, _PRE_FENCE, ""]
        else:
            result.append(line)
    return "\n".join(result)


def _quoted_once(lines: list[str]) -> str:
    """The lines with one quote mark each.

    The depth of a quote has no meaning here, and takes the parser quadratic time.
    """
    fences = _Fences()
    return "\n".join(
        line if fences.inside(line) or ">" not in line else _QUOTED_AGAIN.sub(r"\1", line) for line in lines
    )


def _inside(lines: list[str]) -> list[bool]:
    """For each line, whether it belongs to a fence."""
    fences = _Fences()
    return [fences.inside(line) for line in lines]


def blocks_of(text: str) -> list[Block]:
    """The blocks of a report, in order. Prose keeps its lines, without HTML tags."""
    beginning = "\n".join(unix_lines(text).split("\n", MOST_LINES)[:MOST_LINES])
    source = closed_fences(separated_fences(_fenced_lines(_fenced_pre(without_comments(beginning)))))
    lines = source.split("\n")
    for fenced in (fenced_joined_lines, fenced_ticks, sessions_of_cells, fenced_sessions):
        lines = fenced(lines, _inside(lines), fence=_PRE_FENCE)
    source = "\n".join(lines)
    if not _has_fence(source):
        program = fenced_bare_code(source, fence=_PRE_FENCE)
        program = program if program != source else fenced_bare_statements(source, fence=_PRE_FENCE)
        program = program if program != source else fenced_quotation(source, fence=_PRE_FENCE)
        source = program if program != source else fenced_arrows(source, fence=_PRE_FENCE)
    lines = source.split("\n")
    reader = MarkdownIt("commonmark", {"maxNesting": _MOST_NESTING}).disable(
        ["inline", "reference", "html_block"]
    )
    blocks: list[Block] = []
    heading = False
    depth = 0
    for token in reader.parse(_quoted_once(lines)):
        depth += token.nesting if token.type.startswith("blockquote") else 0
        if token.type in {"fence", "code_block"}:
            block = _code_block(token.info, token.content, fenced=token.type == "fence")
            blocks.append(replace(block, quoted=depth > 0))
        elif token.type == "heading_open":
            heading = True
        elif token.type == "heading_close":
            heading = False
        elif token.type == "inline" and token.content.strip() and token.map:
            raw = token.content if heading else "\n".join(lines[token.map[0] : token.map[1]])
            visible = without_tags(raw).strip("\n")
            if visible.strip():
                kind, words = ("heading", visible.strip()) if heading else ("prose", visible)
                blocks.append(Block(kind, words, quoted=depth > 0))
    return blocks


def _has_fence(text: str) -> bool:
    return may_hold_fence(text) and any(_FENCE.match(line) for line in text.split("\n"))


def looks_like_markdown(text: str) -> bool:
    """True if a text is a report and no script.

    It has a fence or a heading or begins with a sentence, and can't be parsed as Python.
    """
    text = unix_lines(text)
    has_fence = _has_fence(text)
    has_heading = re.search(r"^#{1,6} ", text, re.MULTILINE) is not None
    first = next((line for line in text.split("\n") if line.strip() and not line.startswith("#")), "")
    if not (has_fence or has_heading or _SENTENCE.match(first)) or parses(text):
        return False
    return has_fence or _CODE_START.match(first) is None
