"""Reads a sentence that quotes what the script prints, such as `On my machine: 3 of 10 are wrong`."""

from __future__ import annotations

from collections.abc import Sequence

from app.intake.code.printed_texts import Form, place_of_print, print_forms
from app.intake.layout.captions import is_expected_caption
from app.intake.layout.labelled_blocks import EXPECTED
from app.intake.snippets.parts import Part, PartKind

_MOST_PARTS = 200
_MOST_LINES = 40
# Between the output and the end of its sentence.
_ENDS = " \t.!`\"'”*_)"


def with_prints_in_prose(parts: Sequence[Part]) -> list[Part]:
    """The parts, with an output for each such sentence. The words before it introduce it.

    As they are if a block shows an output.
    """
    codes = [part.text for part in parts if part.kind is PartKind.CODE and not part.transcript]
    if not codes or any(part.kind is PartKind.OUTPUT for part in parts):
        return [*parts]
    forms = print_forms(codes)
    result: list[Part] = []
    for part in parts[:_MOST_PARTS]:
        result.append(part)
        result += _outputs(part, forms) if part.kind is PartKind.PROSE and forms else []
    return [*result, *parts[_MOST_PARTS:]]


def _outputs(part: Part, forms: Sequence[Form]) -> list[Part]:
    """The outputs that a paragraph quotes: lines below the same words are one."""
    outputs: dict[str, list[str]] = {}
    above = before = part.before.strip().rpartition("\n")[2]
    for line in part.text.split("\n")[:_MOST_LINES]:
        places = [place for form in forms if (place := place_of_print(line, form))]
        start, end = max(places, key=lambda place: place[1] - place[0], default=(0, 0))
        if end and not line[end:].strip(_ENDS):
            words = line[:start].strip(" \t`\"'“*_>-=→(")
            before = EXPECTED if is_expected_caption(words) else words or above
            outputs.setdefault(before, []).append(line[start:end].strip())
            above = before
        else:
            above = line.strip() or above
    return [Part(PartKind.OUTPUT, "\n".join(lines), part.heading, words) for words, lines in outputs.items()]
