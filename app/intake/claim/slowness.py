"""Reads claims of speed: the slow side, the fast side, and the factor. Every pattern is linear.

An absolute duration is no claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Over, Where
from app.intake.claim.two_sides import dtype_named
from app.intake.words.vocabulary import DTYPE, EXPECT, FLAGS, MODALS, any_of

_WORDS_OF_NUMBERS = {"two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "ten": 10.0, "twice": 2.0}
_FACTOR = re.compile(
    r"(?<![\w.])(?P<times>\d{1,6}(?:\.\d{1,3})?)\s?(?:[-–~]\s?\d{1,6}(?:\.\d{1,3})?\s?)?(?:x|×|times"
    r"|fold|-fold)(?![\w])(?!\s*\d)|(?<![\w.])(?P<percent>\d{1,5}(?:\.\d{1,2})?)\s?%"
    r"|\b(?:by )?a factor (?:of )?(?:about |around |~)?(?P<factor>\d{1,6}(?:\.\d{1,3})?)(?![\w])"
    r"|\b(?P<word>two|three|four|five|ten)\s(?:times|x)\b|\b(?P<twice>twice)\b",
    FLAGS,
)
_SLOWER = re.compile(
    r"\bslower\b|\bslow(?:ed)?[- ]?downs?\b|\btakes? (?:much |far |way )?(?:longer|more time)\b"
    r"|\bperformance regression\b",
    FLAGS,
)
_TWICE_AS_LONG = re.compile(r"\b(?:as (?:slow|long)|longer|the time|more time)\b", FLAGS)
_FASTER = re.compile(r"\bfaster\b|\b(?:as|so) fast\b|\bspeed ?up\b", FLAGS)
_NOT_FASTER = re.compile(
    r"\b(?:not|n['’]t|no|never) (?:any |even )?(?:faster|quicker)\b|\bno speed-?up\b", FLAGS
)
_NEGATION = re.compile(r"(?:\bnot|n['’]t|\bno longer|\bnever)\s+(?:any\s+|be\s+|much\s+)?$", FLAGS)
_SHOULD = re.compile(rf"\b{any_of(MODALS, EXPECT, 'would')}\b[^.;\n]{{0,25}}$", FLAGS)
# Sides that the labels of a script can name. A dotted name is its own label.
_SIDE = re.compile(
    r"(?<![\w./-])(?:(?P<cpu>cpus?)|(?P<cuda>gpus?|cuda(?!\.)|nvidia)|(?P<mps>mps|metal)"
    r"|(?P<compiled>(?:torch\.)?compil(?:ed?|ing|ation)|inductor)|(?P<eager>eager|uncompiled)"
    rf"|(?P<dtype>{DTYPE}|bf16|fp16|fp32|fp64|half|double)"
    r"|(?P<call>(?:torch|np|F|nn|numpy|scipy)(?:\.[A-Za-z_]\w{0,40}){1,4})"
    r"|(?P<library>numpy|scipy|jax|tensorflow|cupy|pandas|numba)"
    r"|`(?P<quoted>[A-Za-z_][\w.]{0,60})(?:\(\))?`)(?![\w])",
    FLAGS,
)
_TORCH = re.compile(r"(?<![\w.])(?:py)?torch(?![\w.])", FLAGS)
_THAN = re.compile(r"\b(?:than|compared (?:to|with)|as compared to|vs\.?|versus|relative to|as|of)\b", FLAGS)
_VERSION = re.compile(
    r"(?<![\w.])v?(?P<version>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\d)(?!\s?(?:x|×|times|%|s\b|ms\b"
    r"|fold))",
    FLAGS,
)
# `with dim time: 27.3`, `list of int 14 ms`.
_LABELLED = re.compile(
    r"(?P<label>[^\d\W][^\n]{1,60}?)[ \t:=]{1,20}(?P<number>\d{1,12}(?:\.\d{1,20})?(?:e[-+]?\d{1,3})?)"
    r" ?(?P<unit>ns|us|µs|ms|s|secs?|seconds?)?\.?",
    re.IGNORECASE,
)
_ABOUT_TIME = re.compile(
    r"time|elapsed|took|takes|duration|seconds|\bsecs?\b|zeit\b|dauer\b|\btemps\b|durée|tiempo|durata", FLAGS
)
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
# `Wall time: 1min 3s`, `7.8 ms ± 22 µs per loop`, `100 loops, best of 3: 7.8 ms per loop`.
_OF_MAGIC = re.compile(
    r"[ \t#]*(?:Wall(?: time)?: |(?:\d+ loops?, best of \d+: )?(?=\d[^\n]{1,60}\bper loop\b))"
    r"(?P<time>(?:\d[\d.]{0,9} ?(?:ns|us|µs|μs|ms|s(?:ec)?|min|h|d)\b ?){1,4})"
)
_AMOUNT = re.compile(r"(?<!\d)(\d++(?:\.\d++)?) ?(ns|us|µs|μs|ms|s(?:ec)?|min|h|d)\b")
_ABOUT_SPEED = re.compile(
    r"\b(?:slow\w*|fast\w*|speed\w*|perform(?:s|ance|ant)|quick\w*|longer|as long"
    r"|(?:takes?|took) (?:ages|forever|long|much|so|\w+ (?:more )?time))\b",
    FLAGS,
)
_MOST_LABELLED = 120
_MOST_TEXT = 400
# Nobody complains of less.
_LEAST_FACTOR = 2.0
_LIBRARIES = {"numpy", "scipy", "jax", "tensorflow", "cupy", "pandas", "numba"}
# `takes 150 rounds`, `took far longer`.
TAKES = re.compile(
    r"\b(?:takes?|took|needs?|lasts?)\b[^.;\n]{0,30}\b(?:more|longer|less|fewer|shorter"
    r"|\d[\d.]* ?(?:rounds?|iterations?|steps?|tries|runs?|m?s|seconds?|minutes?))\b",
    FLAGS,
)


def labelled_times(lines: Sequence[str]) -> list[tuple[str, float]]:
    """The label and the seconds of each line; empty unless all lines are `label: time`, each label once.

    Without a unit, the labels have to say that it is a time.
    """
    rows: list[tuple[str, float]] = []
    for line in lines:
        match = _LABELLED.fullmatch(line.strip()[:_MOST_LABELLED])
        if match is None or not (match["unit"] or _ABOUT_TIME.search(match["label"])):
            return []
        rows.append(
            (match["label"].strip(), float(match["number"]) * _UNITS[(match["unit"] or "s")[:2].rstrip("e")])
        )
    labels = [label for label, _ in rows]
    is_clear = all(one not in other for one in labels for other in labels if one is not other)
    return rows if len(rows) > 1 and len(set(labels)) == len(labels) and is_clear else []


def slower_label(lines: Sequence[str]) -> list[Check]:
    """The check that the slowest of labelled times is as far behind the fastest one as they say."""
    rows = [row for row in labelled_times(lines) if row[1] > 0]
    if len(rows) < 2:
        return []
    (fast, least), (slow, most) = min(rows, key=_time_of), max(rows, key=_time_of)
    factor = round(most / least, 2)
    if factor < _LEAST_FACTOR:
        return []
    text = "\n".join(lines)[:_MOST_TEXT]
    return [Check(text=text, kind=CheckKind.SLOWER, sides=(slow, fast), factor=factor)]


def slower_of_timed(lines: Sequence[str], labels: Sequence[str], texts: Sequence[str]) -> list[Check]:
    """The check that of statements timed in IPython the slowest is as far behind the fastest as it says.

    `labels` are those that the script prints beside its own times, in the same order. `texts` speak of speed,
    else the times are no claim. `%time` is compared with `%time`, if it can be.
    """
    times = [time for line in lines if (time := seconds_of_magic(line)) is not None]
    if not len(times) == len(labels) > 1 or not any(_ABOUT_SPEED.search(text) for text in texts):
        return []
    rows = [row for row in zip(labels, times, strict=True) if row[1] > 0]
    kinds = [[row for row in rows if row[0].startswith(kind)] for kind in ("wall", "best")]
    for alike in [*sorted(kinds, key=_spread_of, reverse=True), rows]:
        if _spread_of(alike) >= _LEAST_FACTOR:
            (fast, _), (slow, _) = min(alike, key=_time_of), max(alike, key=_time_of)
            text = "\n".join(line for line in lines if seconds_of_magic(line) is not None)[:_MOST_TEXT]
            factor = round(_spread_of(alike), 2)
            return [Check(text=text, kind=CheckKind.SLOWER, sides=(slow, fast), factor=factor)]
    return []


def _spread_of(rows: Sequence[tuple[str, float]]) -> float:
    times = list(map(_time_of, rows))
    return max(times) / min(times) if times else 0


def is_of_magic(line: str) -> bool:
    """Whether `%time` or `%timeit` of IPython printed a line."""
    return seconds_of_magic(line) is not None or line.lstrip(" \t#").startswith("CPU times: user ")


def seconds_of_magic(line: str) -> float | None:
    """The time in seconds of a line that `%time` or `%timeit` printed; None for any other line."""
    match = _OF_MAGIC.match(line[:_MOST_LABELLED])
    if match is None:
        return None
    amounts = _AMOUNT.findall(match["time"])
    return sum(float(number) * _UNITS[unit.replace("μ", "µ").removesuffix("ec")] for number, unit in amounts)


def _time_of(row: tuple[str, float]) -> float:
    return row[1]


def slowness(sentence: str) -> list[Check]:
    """The check of a sentence that calls one side slower than another; empty without two sides."""
    is_reversed = False
    comparison = _SLOWER.search(sentence) or _NOT_FASTER.search(sentence)
    if comparison is None and (factor := _FACTOR.search(sentence)) is not None:
        longer = _TWICE_AS_LONG.search(sentence, factor.end())
        comparison = longer if longer is not None and longer.start() - factor.end() < 15 else None
    if comparison is None:
        comparison, is_reversed = _FASTER.search(sentence), True
    if comparison is None or _NEGATION.search(sentence[max(0, comparison.start() - 25) : comparison.start()]):
        return []
    if _SHOULD.search(sentence[max(0, comparison.start() - 45) : comparison.start()]):
        # This is an expectation.
        return []
    factor_said = _factor(sentence, slower=not is_reversed and _SLOWER.search(sentence) is not None)
    sides, over = _sides(sentence, comparison.start(), comparison.end())
    if len(sides) != 2 or sides[0] == sides[1]:
        return []
    slow, fast = reversed(sides) if is_reversed else sides
    where = Where(device=next((side for side in ("cuda", "mps") if side in sides), None))
    return [
        Check(
            text=sentence,
            kind=CheckKind.SLOWER,
            sides=(slow, fast),
            factor=factor_said,
            over=over,
            where=where,
        )
    ]


def _factor(sentence: str, *, slower: bool) -> float | None:
    match = _FACTOR.search(sentence)
    if match is None:
        return None
    if match["percent"]:
        return round(1 + float(match["percent"]) / 100, 4) if slower else None
    digits = match["times"] or match["factor"]
    value = float(digits) if digits else _WORDS_OF_NUMBERS[(match["word"] or match["twice"]).lower()]
    return value if value > 1 else None


def _sides(sentence: str, start: int, end: int) -> tuple[tuple[str, ...], Over]:
    """The two sides: the one before the comparing word, and the one after `than`.

    Two versions are a pair of targets.
    """
    than = _THAN.search(sentence, end)
    before, after = _sides_in(sentence[:start]), _sides_in(sentence[than.end() if than else end :])
    between = _sides_in(sentence[end : than.start()]) if than else []
    versions = [match["version"] for match in _VERSION.finditer(sentence)]
    if len(dict.fromkeys(versions)) == 2:
        return _versions(sentence, than.start() if than else None, versions), Over.PAIR
    first = [side for side in (*between, *before) if side not in after[:1]]
    if after and first:
        alike = [side for side in first if _sort_of(side) == _sort_of(after[0])] or first
        return (alike[0] if between else alike[-1], after[0]), Over.ATTEMPT
    if after:
        torch = than is not None and _TORCH.search(sentence[: than.start()]) is not None
        return ("torch" if torch and after[0] in _LIBRARIES else "", after[0]), Over.ATTEMPT
    if than and before and _TORCH.search(sentence, than.end()) and before[-1] in _LIBRARIES:
        return (before[-1], "torch"), Over.ATTEMPT
    both = list(dict.fromkeys(_sides_in(sentence)))
    # `torch.compile makes it slower` means slower than without it.
    return (("compiled", "eager") if both == ["compiled"] else ()), Over.ATTEMPT


def _sort_of(side: str) -> str:
    """The sort of a side. A device is compared with a device, a dtype with a dtype."""
    if side in {"cpu", "cuda", "mps"}:
        return "device"
    return "mode" if side in {"compiled", "eager"} else "dtype" if re.fullmatch(DTYPE, side) else "call"


def _versions(sentence: str, than: int | None, versions: list[str]) -> tuple[str, ...]:
    """(the slow version, the fast one), if the words tell: the fast one stands after `than`."""
    one, other = tuple(dict.fromkeys(versions))
    if than is not None and sentence.find(other) > than > sentence.find(one):
        return one, other
    if re.search(r"\bfrom\b", sentence[:400], FLAGS) and re.search(
        r"\b(?:to|upgrad\w+)\b", sentence[:400], FLAGS
    ):
        return other, one
    return ()


def _sides_in(text: str) -> list[str]:
    """The sides that a text names, in order."""
    sides: list[str] = []
    for hit in _SIDE.finditer(text):
        kind = hit.lastgroup or ""
        if kind in {"dtype", "library", "call", "quoted"}:
            sides.append(_name_of_side(kind, hit[kind]))
        else:
            sides.append(kind)
    return sides


def _name_of_side(kind: str, text: str) -> str:
    if kind == "dtype":
        return dtype_named(text)
    return text.lower() if kind == "library" else text
