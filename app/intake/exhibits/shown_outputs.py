"""Finds the outputs that a report shows, in blocks and in prose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from app.intake.claim.claim_text import lacks_its_end, sides_checks
from app.intake.claim.slowness import is_of_magic, labelled_times
from app.intake.claim.stated_place import version_named
from app.intake.code.names import bound_names
from app.intake.code.printed_texts import is_print_of, printed_texts
from app.intake.code.syntax import tree_of
from app.intake.exhibits.conditions import names_other_program
from app.intake.exhibits.shown_warnings import split_warnings
from app.intake.layout.captions import is_expected_caption, is_seen_caption
from app.intake.memory import remembers
from app.intake.remarks.output_remarks import without_remark
from app.intake.snippets.output_marks import without_common_sign
from app.intake.snippets.parts import Part, PartKind, is_expectation_heading
from app.intake.snippets.roles import says_it_works, words_about
from app.intake.words.keyed_pattern import keyed_pattern
from app.intake.words.praise import WRONGLY, says_it_fails, speaks_of_another_place, turns_to_here
from app.intake.words.vocabulary import (
    is_printed_line,
    is_prose,
    is_side_error,
    is_timing,
    is_version_line,
)

_VERBS = (
    r"\b(?:prints?|printed|outputs?|gives?|gave|returns?|returned|results? in|shows?|yields?|got|get"
    r"|hands? back|looks? like|comes? (?:out|back)(?: as)?"
    r"|(?<!right )(?<!correct )(?<!expected )(?<!true )(?:result|output|answer) is)"
)
_GIVES = keyed_pattern(
    "print prints printed output outputs give gives gave return returns returned result results show shows "
    "yield yields got get hand hands look looks come comes answer",
    rf"^.{{0,200}}?{_VERBS}[ \t]*:[ \t]+(\S.*)$",
)
_OUTPUT_HEADING = re.compile(
    r"\b(?:outputs?|logs?|actual(?:ly)?|happen(?:s|ed)?|results?|traceback|stack ?trace|errors?)\b",
    re.IGNORECASE,
)
_ACTUAL_TOO = re.compile(r"\b(?:actual|vs)\b", re.IGNORECASE)
# A printed line between backticks, on a line of its own.
_QUOTED_LINE = re.compile(r"\s*`([^`\n]{1,400})`[.!]?\s*$")
# A sentence above the output, inside of its block.
_CAPTION_INSIDE = re.compile(
    r"(?=.{0,80}\b(?:no error|it|this|that|the (?:script|code|program)|i|we|which|just|only|instead)\b)"
    r".{0,80}\b(?:prints?|printed|outputs?|returns?|gives?|shows?|get|see|got):",
    re.IGNORECASE,
)
# `# stdout:` above lines that are no comments.
_CAPTION_AS_COMMENT = re.compile(r"#{1,3} ?[^\W\d_][\w '()-]{0,50}:?")
_QUOTATION = re.compile(r" {0,3}>(?!>>)")
_MENTIONS = re.compile(r"^[ \t]*+(?:(?:cc|/cc|ping)[ \t]*)?@[\w-]", re.IGNORECASE)
# Below such words, a block is output, whatever it says.
_PRINTS = re.compile(
    r"(?:\b(?:prints?|printed|outputs?|stdout|shows?|displays?|gives?|returns?|says?|yields?"
    r"|tells?|(?<!was )(?<!been )(?<!were )told|reports?|answers?|responds?|replies|obtains?|receives?"
    r"|evaluates to|results? in|leads? to|turns? (?:out|into)|comes? (?:out|back)|out comes|spits? out"
    r"|becomes?|became|has become|(?:is|are) now|now is|(?<!right )(?<!correct )(?<!true )answer (?:is|was)"
    r"|(?<!expected to )(?<!should )(?<!want to )(?:see|get)|got)"
    r"(?: (?:me|us|this|the following|now|today|instead|back|here|with|as|to be|is|was)){0,3}"
    r"|\b(?:today|now)['’]s (?:answer|result|value|output))\W{0,6}$",
    re.IGNORECASE,
)
# Blocks with the fields of an issue that came from the tracker of bugs.python.org.
_OF_TRACKER = re.compile(r"\s*(?:GitHub|bugs\.python\.org) fields:\s*", re.IGNORECASE)
# Words above an output that say that it is what happens.
_IS_WRONG = re.compile(
    r"\b(?:(?:i|we) (?:get|got|see|have)\b|(?:is|are|was) (?:wrong|incorrect|not (?:right|correct|expected))"
    r"|(?:but|now|yet|however),? (?:it|this|the \w{1,20}|i) )[^.\n]{0,60}\W*$",
    re.IGNORECASE,
)
_SEEN = re.compile(
    r"\b(?:actual(?:ly)?|current(?:ly)?|observed|happen(?:s|ed)?|outputs?|prints?|results?|returns?"
    r"|instead|get|got)\b",
    re.IGNORECASE,
)
_BUT_FAILS = re.compile(
    r"\b(?:but|now|yet|however)\b(?:[^.\n]|\.(?=\S)){0,80}"
    r"\b(?:error|exception|fails?|crash(?:es)?|wrong|(?:i|we) (?:get|see))\b",
    re.IGNORECASE,
)
_FEW_WORDS = re.compile(r"[\w.<>'\"+-]{1,60}(?: [\w.<>'\"+-]{1,40}){0,2}")
_OF_A_SHELL = re.compile(
    r"(?:pip|conda|python\d?|cd|ls|uv|poetry|apt|brew|sudo|git|make|pytest|import|from)\b"
)
_MOST_LINE = 2_000
_TRACEBACK = "Traceback (most recent call last)"
_MOST_CAPTION = 200
_MOST_WORDS_OF_HEADING = 6
_MOST_LINES_OF_FORM = 200
# So few words between code and a block say that it is the output of the code.
_MOST_WORDS_BELOW_CODE = 40
# pandas prints the size below a frame, or not, by its own version. A notebook shows the objects of a picture.
_OF_DISPLAY = re.compile(
    r"\[\d+ rows x \d+ columns\]|<Figure size [\dx. ]{1,20} with \d{1,3} Axes>"
    r"|\[?<matplotlib\.[\w.]{1,80} at 0x[0-9A-Fa-f]{1,16}>\]?|<Axes[^<>\n]{0,120}>"
)
_CALLS_RIGHT = re.compile(r"\W*(?:expected|desired|correct|wanted)\b[^:\n]{0,40}:", re.IGNORECASE)
_ARRAY = re.compile(r"\s*(?:tensor|array)\(")


def shown_outputs(parts: Sequence[Part]) -> list[Part]:
    """The outputs in the report, from blocks and from prose. `before` holds the words that introduce each."""
    outputs: list[Part] = []
    introduction, of_control = "", False
    heading_of_code, since_code, code = None, "", ""
    several = sum(part.kind == PartKind.CODE for part in parts) > 1
    texts = printed_texts([part.text for part in parts if part.kind == PartKind.CODE])
    for part in parts:
        if part.kind == PartKind.CODE:
            introduction, heading_of_code, since_code = part.before, part.heading, ""
            code = part.text
            of_control = several and (part.praised or says_it_works(part.before))
        # Forms often end with the versions, and what follows them stands under their heading.
        of_environment = part.about_environment and not (
            part.heading == heading_of_code
            and (_PRINTS.search(part.before[-_MOST_CAPTION:]) or len(since_code) < _MOST_WORDS_BELOW_CODE)
        )
        of_environment = of_environment or _OF_TRACKER.fullmatch(part.before.rpartition("\n")[2]) is not None
        # A sentence that quotes a print may have been read already.
        is_read = bool(outputs) and outputs[-1].text == part.text and part.text in since_code
        # Whatever the documentation says, a traceback in the fence of the only code is that of the code.
        is_own = bool(code) and not several and part.before == introduction and _TRACEBACK in part.text
        is_quoted = part.kind == PartKind.OUTPUT and part.quoted and not (is_own and part.before)
        if part.kind == PartKind.OUTPUT and not (is_quoted or of_environment or is_read):
            # The output of a control is right, whatever stands between them, such as `prints`.
            words = words_about(part.before)
            elsewhere = (
                part.elsewhere
                or (speaks_of_another_place(words) and not says_it_fails(words) and not turns_to_here(words))
                or (of_control and not WRONGLY.search(part.before.rpartition("\n")[2]))
            )
            placed = replace(part, elsewhere=elsewhere)
            # `1.26 is fine` above the only code speaks of another output than the one below the code.
            of_other = not several and speaks_of_another_place(introduction)
            above = (
                f"{introduction}\nOutput:" if _is_printed_below(part, code, introduction) else introduction
            )
            inherits = not part.before and not of_other
            outputs.append(_with_introduction(placed, above) if inherits else placed)
            code = ""
        elif part.kind == PartKind.PROSE:
            since_code, code = since_code + part.text, ""
            outputs += [_with_introduction(output, introduction) for output in _output_in_prose(part, texts)]
    return _older_versions_elsewhere(_without_wrong_heading(outputs))


def _without_wrong_heading(outputs: list[Part]) -> list[Part]:
    """The outputs, with a failure as what happens that stands under a heading for what is expected.

    Some people fill in a form the wrong way round. Words that say that it is wrong count as well. A heading
    or a caption for what happens says that the form was understood.
    """
    others = [part for part in outputs if not part.expected]
    if any(_SEEN.search(f"{part.heading} {part.before[-_MOST_CAPTION:]}") for part in others):
        return outputs
    return [
        replace(part, heading="", before="")
        if is_expectation_heading(part.heading)
        and (_TRACEBACK in part.text or _IS_WRONG.search(part.before[-_MOST_CAPTION:]))
        else part
        for part in outputs
    ]


def _older_versions_elsewhere(outputs: list[Part]) -> list[Part]:
    """The outputs. If they name their versions, as `numpy 1.26:`, all but the newest are elsewhere."""
    versions = [version_named(part.before.rpartition("\n")[2]) for part in outputs]
    named = [(version, at) for at, version in enumerate(versions) if version is not None]
    numbers = {(version.release, version.patch) for version, _ in named}
    # `With numpy 1.26:` and `In 2.0:` are versions of one package.
    if len({version.package for version, _ in named if version.package}) > 1 or len(numbers) < 2:
        return outputs
    newest = max((version.release, version.patch) for version, _ in named)
    package = next((version.package for version, _ in named if version.package), "")
    claimed = {
        at: replace(version, package=package)
        for version, at in named
        if (version.release, version.patch) == newest
    }
    older = {at for _, at in named if at not in claimed}
    return [
        replace(
            part,
            elsewhere=part.elsewhere or at in older,
            version=str(claimed[at]) if at in claimed else part.version,
        )
        for at, part in enumerate(outputs)
    ]


def reads_as_output(part: Part, main: str) -> bool:
    """True if a block shows output: a line looks printed, or a caption such as `Output:` says so.

    Below a caption, words count too, unless they form a sentence that the script does not hold.
    """
    lines = lines_of(part)
    if lacks_its_end(part.text):
        return False
    # Between prompts stands nothing but output.
    if part.transcript or any(map(is_printed_line, map(without_remark, lines))):
        return bool(lines)
    texts = printed_texts([main])
    if lines and all(is_print_of(line, texts) for line in lines):
        return True
    caption = part.before.strip().rpartition("\n")[2] or part.heading
    if _PRINTS.search(caption[-_MOST_CAPTION:]):
        return True
    return (is_seen_caption(caption) or is_expected_caption(caption)) and all(
        not is_prose(line) or all(word in main for word in line.split()) for line in lines
    )


def is_expectation(part: Part) -> bool:
    """True if the prose stands under a heading for the expected behaviour, so it describes no bug.

    A paragraph of its own that is nothing but such words counts as a heading.
    """
    above = part.before.strip()
    if "\n" not in above and is_expected_caption(above[:_MOST_CAPTION]):
        return True
    return is_expectation_heading(part.heading) and _ACTUAL_TOO.search(part.heading) is None


def tells_what_happens(line: str) -> bool:
    """True for a sentence such as `It is ok, but then it fails`, wherever it stands."""
    return _BUT_FAILS.search(line[:_MOST_LINE]) is not None


def _is_printed_below(part: Part, code: str, introduction: str) -> bool:
    """Whether a block right below code holds as few words as the code prints, and no words judge it."""
    lines = [line.strip() for line in part.text.split("\n") if line.strip()]
    return (
        not part.before
        and len(lines) <= code.count("print(")
        and all(_FEW_WORDS.fullmatch(line) and not _OF_A_SHELL.match(line) for line in lines)
        and not (says_it_works(introduction) or speaks_of_another_place(introduction))
        and not is_expected_caption(introduction[-_MOST_CAPTION:])
    )


def _with_introduction(part: Part, before: str) -> Part:
    return replace(part, before=part.before or before)


def _output_in_prose(part: Part, texts: Sequence[str]) -> list[Part]:
    text = without_common_sign(part.text)
    lines = [line for line in text.split("\n") if not _MENTIONS.match(line)]
    if len(lines) <= _MOST_LINES_OF_FORM:
        lines = [line for line in lines if not is_version_line(line)]
    text = "\n".join(lines)
    if not text.strip():
        return []
    if "Traceback (most recent call last)" in text:
        return [Part(PartKind.OUTPUT, text, part.heading)]
    if _is_quoted_output(part, lines, texts):
        return [Part(PartKind.OUTPUT, text, part.heading)]
    values = [
        _without_bold(match[1])
        for line in lines
        if ":" in line and not _CALLS_RIGHT.match(line)
        for match in [_GIVES.search(line[:_MOST_LINE])]
        if match
    ]
    printed_values = [line for line in values if "`" not in line and is_printed_line(line)]
    printed_values = printed_values or _quoted_lines([line for line in lines if line.strip()], texts)
    if printed_values:
        is_whole = len(printed_values) == sum(bool(line.strip()) for line in lines)
        above = part.before if is_whole else ""
        return [Part(PartKind.OUTPUT, "\n".join(printed_values), part.heading, above)]
    if output := _output_below_caption(part, [line.strip() for line in lines if line.strip()]):
        return [output]
    heading = _heading_of_bare_lines(part, [line.strip() for line in lines if line.strip()])
    return [] if heading is None else [Part(PartKind.OUTPUT, text, heading)]


def _without_bold(text: str) -> str:
    """A value without the stars of bold type around it."""
    is_bold = text.startswith("**") and text.endswith("**") and "**" not in text[2:-2]
    return text[2:-2] if is_bold else text


def _is_quoted_output(part: Part, lines: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether it is a quotation of nothing but printed lines, right below a block."""
    quoted = [line for line in part.text.split("\n") if line.strip()]
    return (
        not part.before
        and bool(quoted)
        and all(map(_QUOTATION.match, quoted))
        and all(is_printed_line(line) or is_print_of(line, texts) for line in lines if line.strip())
    )


def _heading_of_bare_lines(part: Part, lines: Sequence[str]) -> str | None:
    """The heading for a paragraph that is output without a caption; None if it is no output."""
    is_printed = all(map(is_printed_line, lines)) and not any(map(names_other_program, lines))
    if not lines or not is_printed or (len(lines) == 1 and lines[0].endswith(":")):
        return None
    if sides_checks(lines) or all(map(is_side_error, lines)):
        return part.heading
    if part.about_environment:
        # People put the output below whichever heading of a form comes last.
        return "" if all(map(_ARRAY.match, lines)) else None
    # A longer heading is the title.
    is_short = len(part.heading.split()) <= _MOST_WORDS_OF_HEADING
    return part.heading if is_short and _OUTPUT_HEADING.search(part.heading) else None


def _quoted_lines(lines: Sequence[str], texts: Sequence[str]) -> list[str]:
    """The printed lines of a paragraph that holds nothing but lines between backticks."""
    matches = [_QUOTED_LINE.match(line) for line in lines]
    values = [match[1] for match in matches if match]
    are_printed = all(is_printed_line(value) or is_print_of(value, texts) for value in values)
    return values if len(values) == len(lines) and are_printed else []


def _output_below_caption(part: Part, lines: Sequence[str]) -> Part | None:
    """Printed lines below a caption such as `Output:`, which may stand in the paragraph above."""
    above = part.before.strip().split("\n")
    for caption, output in ((lines[:1], lines[1:]), (above[-1:] if len(above) == 1 else [], lines)):
        if not caption or not output or part.about_environment or not all(map(is_printed_line, output)):
            continue
        expected, seen = is_expected_caption(caption[0]), is_seen_caption(caption[0])
        if expected or seen:
            return Part(
                PartKind.OUTPUT, "\n".join(output), part.heading, "Expected:" if expected else "Output:"
            )
    return None


def lines_of(part: Part) -> list[str]:
    """The lines of a part, without versions of packages and times: these differ between machines."""
    return [*_printed_lines_of(part.text)]


@remembers()
def _printed_lines_of(text: str) -> tuple[str, ...]:
    rest, _ = split_warnings(text.split("\n"))
    lines = (line.strip() for line in rest if line.strip() and not _MENTIONS.match(line))
    lines = (line for line in lines if not is_of_magic(line))
    return tuple(line for line in lines if not is_version_line(line) and not _OF_DISPLAY.fullmatch(line))


def only_times(part: Part) -> bool:
    """True if the output holds nothing but durations. The prose then states the claim."""
    lines = lines_of(part)
    return all(map(is_timing, lines)) or bool(labelled_times(lines))


def without_words_above(lines: list[str], main: str) -> list[str]:
    """The lines of a block without a name or a caption on its first line."""
    return _without_caption(_without_name(lines, main), main)


def _without_name(lines: list[str], main: str) -> list[str]:
    """The lines of a block without the name above them, such as `result`, that somebody typed to see it."""
    if len(lines) < 2 or not lines[0].isidentifier():
        return lines
    tree = tree_of(main)
    return lines[1:] if tree is not None and lines[0] in bound_names(tree) else lines


def _without_caption(lines: list[str], main: str) -> list[str]:
    """The lines of a block without a sentence above them, such as `No error, it prints:`."""
    if len(lines) < 2:
        return lines
    is_comment = _CAPTION_AS_COMMENT.fullmatch(lines[0]) and not any(
        line.startswith("#") for line in lines[1:]
    )
    if not is_comment and not _CAPTION_INSIDE.fullmatch(lines[0]):
        return lines
    return lines if is_print_of(lines[0], printed_texts([main])) or lines[0] in main else lines[1:]
