"""The dossier as Markdown. Text of the script stands only in code spans, and only as names."""

from __future__ import annotations

from collections.abc import Iterator

from app.judging.dossier.document import Dossier, NumberInQuestion, NumberSide, Question
from app.visible_text import visible

_LABEL_BREAKERS = str.maketrans("", "", "`\n\r|<>")


def dossier_markdown(dossier: Dossier, *, address: str = "") -> str:
    """The whole dossier. `address`: that of its page, if it has one."""
    parts = [
        f"**{_safe(dossier.summary)}**",
        _cause(dossier),
        "\n".join(_numbers(dossier)),
        "\n\n".join(_question(question) for question in dossier.questions),
        "\n".join(_unknown(dossier)),
        f"The whole dossier: {address}" if address else "",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def number(value: float | str | None) -> str:
    """A number with the digits that tell it apart; a word for what is no finite number."""
    return "–" if value is None else value if isinstance(value, str) else f"{value:.9g}"


def short(value: float | None) -> str:
    """A distance in three digits."""
    return "–" if value is None else f"{value:.3g}"


def _safe(text: str) -> str:
    return visible(text).replace("\n", " ")


def _code(text: str) -> str:
    return f"`{visible(text).translate(_LABEL_BREAKERS)}`"


def _cause(dossier: Dossier) -> str:
    if dossier.cause is None:
        return f"Cause: not known. {dossier.defect_sentence}"
    test = f" Test: {dossier.cause_test}" if dossier.cause_test else ""
    return (
        f"Cause: {_code(dossier.cause)}. {_safe(dossier.cause_sentence)}{test}\n\n"
        f"Defect: **{dossier.defect}**. {dossier.defect_sentence}"
    )


def _numbers(dossier: Dossier) -> Iterator[str]:
    if not dossier.numbers:
        return
    yield "| number | side | value | float64 | distance (ULP) | reference ± | rounding ± | within? |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in dossier.numbers:
        for side in row.sides:
            yield _row(row, side)
    yield ""
    for row in dossier.numbers:
        yield f"- {_code(row.name)}, {_safe(row.about)}{_lines(row)}: {_safe(row.sentence)}"
    if dossier.numbers_omitted:
        yield f"- … and {dossier.numbers_omitted} more."


def _row(row: NumberInQuestion, side: NumberSide) -> str:
    within = {True: "yes", False: "no", None: "unknown"}[side.explained]
    dtype = side.dtype.removeprefix("torch.")
    ulps = "–" if side.ulps is None else f"{short(side.ulps)} of {dtype}"
    cells = (
        *(_code(row.name), _code(side.label), number(side.value), number(side.reference), ulps),
        *(short(side.uncertainty), short(side.rounding), within),
    )
    return f"| {' | '.join(cells)} |"


def _lines(row: NumberInQuestion) -> str:
    if not row.lines:
        return ""
    return f" (output line{'' if len(row.lines) == 1 else 's'} {', '.join(map(str, row.lines))})"


def _question(question: Question) -> str:
    facts = "".join(f"\n- {_safe(fact)}" for fact in question.facts)
    answer = "no answer" if question.answer is None else question.answer
    return f"{question.letter}. {question.asks} **{_safe(answer)}**. {question.test}{facts}"


def _unknown(dossier: Dossier) -> Iterator[str]:
    if dossier.unknown:
        yield "Not known:"
        for gap in dossier.unknown:
            yield f"- {_safe(gap)}"
