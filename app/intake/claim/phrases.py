"""Reads one sentence of a claim into checks, by rules in a fixed order.

The tests hold sentences that each rule must catch, and sentences that it must not.
"""

from __future__ import annotations

import re

from app.intake.claim.claims import Check, CheckKind, Role, Where
from app.intake.claim.endings import ending_of, exit_status_of, names_status
from app.intake.claim.expected_values import (
    expected_value,
    expected_value_after,
    opposed_value,
    seen_value,
)
from app.intake.claim.known_messages import known_message, quoted_message
from app.intake.claim.missing_errors import expected_error, missing_error
from app.intake.claim.named_errors import NamedError, seen_error
from app.intake.claim.slowness import TAKES, slowness
from app.intake.claim.stated_place import clause_of, device_at, stated_device, stated_place, with_place
from app.intake.claim.two_sides import attribute_value, not_finite, two_sides
from app.intake.claim.value_mentions import seen_and_expected
from app.intake.memory import remembers
from app.intake.words.variation import OVER_RUNS, SHOULD_VARY, says_it_varies
from app.intake.words.vocabulary import (
    FLAGS,
    LITERAL,
    NUMBER,
    both_devices,
    is_number,
    strip_quotes,
)

_ALIKE = re.compile(
    r"\bboth\b|\bthe same device\b|\bas well as\b|\balike\b|\beither\b|\bcpu[- ]only\b|\bneither\b"
    r"|\bthe same on\b|\bidentical on\b",
    FLAGS,
)
_CONTRAST = re.compile(
    r"\bdiffer\w*|\binconsisten\w*|\bmismatch\w*|\bdisagree\w*|\bnot (?:the )?(?:same|equal)\b"
    r"|\bdiverge\w*|\bdrifts?\b|\bunequal\b|\bdiscrepanc\w*|\bdon['’]t match\b|\bdo(?:es)? not match\b",
    FLAGS,
)
_WEAK_CONTRAST = re.compile(r"\bwhile\b|\bwhereas\b|\bwhere the\b|\bbut\b|\bvs\.?\b|\bversus\b", FLAGS)
_ON_EACH = re.compile(r"\bon (?:the )?(?:cpu|gpu|cuda)\b", FLAGS)
_GIVES_EACH = re.compile(
    r"\b(?:the )?(?:cpu|gpu|cuda)\b[^.;\n]{0,80}\b(?:gives?|returns?|prints?|raises?|is)\b", FLAGS
)
_SIDE_VALUE = re.compile(
    r"(?<![\w.])(?P<side>cpu|gpu|cuda|eager|compiled|compile"
    r"|inductor)(?: (?:mode|code))?(?: (?:results?|outputs?"
    r"|values?))?(?:(?P<verb>\s*(?:[=:]|->|gives?|gave|returns?|prints?|shows?|is)\s*)"
    rf"|\s+)`?(?P<number>{NUMBER})",
    FLAGS,
)
_SIDE_NAMES = {"gpu": "cuda", "compile": "compiled", "inductor": "compiled"}
_COMPILED = re.compile(r"\b(?:compil\w+|inductor|dynamo)\b", FLAGS)
_EAGER = re.compile(r"\beager\b", FLAGS)

# `after the first step` is a time, and no position.
_STEPS = (
    r"(?:steps?|epochs?|iterations?|calls?|runs?|times?|batch(?:es)?|forward|pass|tr(?:y|ies)"
    r"|attempts?|backward)"
)
_NO_STEP = rf"\b(?! (?:few |couple |two |\d+ )?{_STEPS}\b)"
_LAST = re.compile(rf"\b(?:last|final){_NO_STEP}", FLAGS)
_FIRST = re.compile(rf"\bfirst{_NO_STEP}", FLAGS)
_SEEN_IN_PLACE_OF_AN_ERROR = {
    CheckKind.EXCEPTION,
    CheckKind.VALUE,
    CheckKind.OUTPUT,
    CheckKind.CRASH,
    CheckKind.HANG,
}
_OF_A_VERSION = re.compile(
    r"\b((?:since|version|release|torch|pytorch|numpy|scipy|python|cuda|cudnn|regression in"
    r"|(?:works?|worked|fails?|failed|broken?|breaks) (?:in|on|with)|upgrad\w+ to"
    r"|from) v?)(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)(?![\w%]|\.\d)",
    FLAGS,
)
# In `the result is 5`: a number of so few digits may stand anywhere by chance, so it needs its label.
_MOST_CHANCE = 3
_LABEL = re.compile(
    r"\b(?!(?:it|this|that|which|what|there|here|answer|one|actual|now|code|script|program|version"
    r"|class|index|i|n|k)\b)(?P<label>[A-Za-z_][\w.]{2,30}) (?:is|was|becomes|equals|=|comes out as"
    r"|turns out to be) (?:now |only |always |just |still |actually )?[`\"']?$",
    FLAGS,
)
# Nothing is printed. `returns nothing` and `prints nothing useful` are other claims.
_NOTHING = re.compile(
    r"\b(?:prints?|printed|outputs?|shows?|displays?) (?:absolutely |just |simply "
    r"|literally )?nothing(?: at all)?(?=[.!,;:)]|$| (?:and|when|here|on my|although|instead)\b)"
    r"|\bnothing (?:at all )?(?:is|gets|was) (?:printed|shown|displayed|output)(?: at all)?(?=[.!,;:)]"
    r"|$| (?:and|when|here|although|instead)\b)|^\W*no output(?: at all| whatsoever)?(?=[.!]|$)"
    r"|^\W*(?:the )?(?:actual|current|real)?(?: ?(?:outputs?|results?|behaviou?r))\W{1,4}"
    r"(?:nothing|none|no output|\(?(?:empty|blank)\)?)(?: at all)?[^\w\n]{0,8}$",
    FLAGS,
)


_OF_A_LINE = re.compile(
    r"\b(?:first|second|third|fourth|last) (?:line|value|print(?:out)?|output|one|number|result|call|answer)"
    rf" (?:is|says|shows|prints|gives|returns|was|comes out as) [`\"']?(?P<value>{LITERAL})",
    FLAGS,
)
# In `It prints -4 -3.` the dot is none of the last number.
_ENDS_A_SENTENCE = re.compile(r"[^\n]{1,400}[ \t][-+]?\d{1,40}\.")
_EXCEPTION_NAME = re.compile(r"(?:\w{1,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception)")


@remembers()
def phrase_checks(sentence: str) -> tuple[Check, ...]:
    """The checks of one sentence; empty if it holds nothing that can be checked."""
    for rule in _RULES:
        checks = rule(sentence)
        if checks:
            place = stated_place(sentence, about_it=True)
            own = stated_place(clause_of(checks[0], sentence), about_it=True)
            own_place = place if place.os else place.model_copy(update={"os": own.os})
            return tuple(with_place(_with_expected_error(checks, sentence), own_place))
    return ()


def _with_expected_error(checks: list[Check], sentence: str) -> list[Check]:
    """The checks, and the error that the sentence expects instead."""
    if (
        any(check.role is Role.EXPECTED for check in checks)
        or checks[0].kind not in _SEEN_IN_PLACE_OF_AN_ERROR
    ):
        return checks
    expected = expected_error(sentence)
    same = expected is None or expected.exception_type == checks[0].exception_type
    return checks if same or expected is None else [*checks, expected]


def expected_check(sentence: str, *, behind: bool = False) -> Check | None:
    """The expected check of a sentence such as `It should print 13`.

    `behind`: the text follows a value that is seen.
    """
    expected = expected_value_after(sentence) if behind else expected_value(sentence)
    return literal_check(expected, sentence, Role.EXPECTED) if expected else None


def literal_check(text: str, sentence: str, role: Role) -> Check | None:
    """A quoted text or a number as a check."""
    bare = strip_quotes(text)
    if _ENDS_A_SENTENCE.fullmatch(bare) and sentence.rstrip(" `").endswith(bare):
        bare = bare[:-1]
    if text.startswith("`") and _is_between_codes(text, sentence):
        return None
    where = stated_device(sentence)
    if is_number(bare):
        places = [name for name, word in (("last", _LAST), ("first", _FIRST)) if word.search(sentence)]
        position = places[0] if len(places) == 1 else None
        return Check(
            text=sentence, kind=CheckKind.VALUE, role=role, number=bare, position=position, where=where
        )
    if not bare:
        return None
    return Check(text=sentence, kind=CheckKind.OUTPUT, role=role, lines=tuple(bare.splitlines()), where=where)


def _is_between_codes(text: str, sentence: str) -> bool:
    """Whether a text in backticks begins where a piece of code ends: ``f.print` does not print `Table``."""
    at = sentence.find(text)
    return at >= 0 and sentence.count("`", 0, at) % 2 == 1


def _exception_with_message(sentence: str) -> list[Check]:
    """Read `SomeError: message`. A message outweighs all other words of the sentence."""
    error = seen_error(sentence)
    return _exception(sentence, error) if error and error.message else []


def _exception(sentence: str, error: NamedError) -> list[Check]:
    # Words of the message do not name a device.
    where = device_at(sentence[: error.end] if error.message else sentence, error.start)
    return [
        Check(
            text=sentence,
            kind=CheckKind.EXCEPTION,
            exception_type=error.type,
            message=error.message,
            where=where,
        )
    ]


def _without_versions(sentence: str) -> str:
    """The sentence with versions blanked, since they are no values. Positions stay."""
    return _OF_A_VERSION.sub(lambda match: match[1] + "_" * len(match[2]), sentence)


def _seen_and_expected(sentence: str) -> list[Check]:
    values = seen_and_expected(_without_versions(sentence))
    if values is None or strip_quotes(values[0]) == strip_quotes(values[1]):
        return []
    # `it ends in a TypeError` is about an exception, and about no printed text.
    if _EXCEPTION_NAME.fullmatch(strip_quotes(values[0])):
        return []
    bug = literal_check(values[0], sentence, Role.BUG)
    expected = literal_check(values[1], sentence, Role.EXPECTED)
    attribute = attribute_value(sentence)
    if bug and attribute and attribute[1] == strip_quotes(values[0]):
        bug = bug.model_copy(update={"label": attribute[0]})
    bug = _with_label(bug, sentence)
    if bug and expected and bug.label and expected.kind is CheckKind.VALUE:
        expected = expected.model_copy(update={"label": bug.label})
    return [bug, expected] if bug and expected else []


def _over_runs(sentence: str) -> list[Check]:
    """Words about repeated runs outweigh the devices that a sentence names."""
    return _varies(sentence) if OVER_RUNS.search(sentence) else []


def _differs(sentence: str) -> list[Check]:
    if both_devices(sentence) and not _ALIKE.search(sentence):
        lines = {side: line for side, line in _side_values(sentence).items() if side in {"cpu", "cuda"}}
        strong = _CONTRAST.search(sentence) is not None or len(set(lines.values())) > 1
        gives_each = len(_GIVES_EACH.findall(sentence)) > 1 or bool(lines)
        # How long something takes on each is no difference of results.
        each = gives_each or (len(_ON_EACH.findall(sentence)) > 1 and not TAKES.search(sentence))
        if strong or ((each or _WEAK_CONTRAST.search(sentence)) and not _failure(sentence)):
            sides = ("cpu", "cuda")
            side_lines = tuple(lines.get(side, "") for side in sides) if lines else ()
            return [
                Check(
                    text=sentence,
                    kind=CheckKind.DIFFERS,
                    sides=sides,
                    side_lines=side_lines,
                    where=Where(device="cuda"),
                )
            ]
    if _EAGER.search(sentence) and _COMPILED.search(sentence):
        sides = ("eager", "compiled")
        lines = _side_values(sentence)
        side_lines = tuple(lines[side] for side in sides) if set(sides) <= set(lines) else ()
        if side_lines or _CONTRAST.search(sentence) or _WEAK_CONTRAST.search(sentence):
            return [Check(text=sentence, kind=CheckKind.DIFFERS, sides=sides, side_lines=side_lines)]
    return []


def _side_values(sentence: str) -> dict[str, str]:
    """The value of each side in `the CPU gives -inf, gpu = -108.3`.

    A bare whole number is skipped: it may be the index of a GPU.
    """
    values: dict[str, str] = {}
    for match in _SIDE_VALUE.finditer(sentence):
        number = match["number"]
        if match["verb"] or not number.lstrip("+-").isdigit():
            side = _SIDE_NAMES.get(match["side"].lower(), match["side"].lower())
            values.setdefault(side, f"{side} {number}")
    return values


def _failure(sentence: str) -> list[Check]:
    """An exception by its name, a crash, a hang, lack of memory, or an exit status."""
    error = seen_error(sentence)
    if error:
        return _exception(sentence, error)
    ending = ending_of(sentence)
    if ending:
        return [
            Check(
                text=sentence, kind=ending.kind, signal=ending.signal, where=device_at(sentence, ending.start)
            )
        ]
    status = exit_status_of(sentence)
    return (
        []
        if status is None
        else [
            Check(
                text=sentence, kind=CheckKind.EXIT_STATUS, exit_status=status, where=stated_device(sentence)
            )
        ]
    )


def _varies(sentence: str) -> list[Check]:
    if not says_it_varies(sentence):
        return []
    return [Check(text=sentence, kind=CheckKind.VARIES, where=stated_device(sentence))]


def _prints(sentence: str) -> list[Check]:
    value = seen_value(_without_versions(sentence))
    check = _with_label(literal_check(value, sentence, Role.BUG) if value else None, sentence)
    return [check] if check else []


def _exits(sentence: str) -> list[Check]:
    """Read `exits with code 3 instead of 0`. A status that stands for a signal is a crash."""
    status = exit_status_of(sentence)
    if status is None or not names_status(sentence):
        return []
    return [
        Check(text=sentence, kind=CheckKind.EXIT_STATUS, exit_status=status, where=stated_device(sentence))
    ]


def _with_label(check: Check | None, sentence: str) -> Check | None:
    """The check, with the label that the sentence gives its value."""
    number = "" if check is None else check.number or ""
    if (
        check is None
        or check.label
        or not number
        or sum(map(str.isdigit, number)) > _MOST_CHANCE
        or not number[-1].isdigit()
    ):
        return check
    places = (match.start() for match in re.finditer(rf"(?<![\w.]){re.escape(number)}(?!\w)", sentence))
    label = next(
        (match["label"] for at in places if (match := _LABEL.search(sentence, max(0, at - 60), at))), None
    )
    return check.model_copy(update={"label": label}) if label else check


def _attribute(sentence: str) -> list[Check]:
    attribute = attribute_value(sentence)
    check = literal_check(attribute[1], sentence, Role.BUG) if attribute else None
    return [check.model_copy(update={"label": attribute[0]})] if attribute and check else []


def _prints_nothing(sentence: str) -> list[Check]:
    match = _NOTHING.search(sentence)
    if match is None or SHOULD_VARY.search(sentence[max(0, match.start() - 40) : match.start()]):
        return []
    text = expected_value(sentence[match.end() :])
    expected_output = literal_check(text, sentence, Role.EXPECTED) if text else None
    return [
        Check(text=sentence, kind=CheckKind.OUTPUT, lines=("",), where=stated_device(sentence)),
        *([expected_output] if expected_output else []),
    ]


def _line_shows(sentence: str) -> list[Check]:
    """Read `the second line is `False``."""
    match = _OF_A_LINE.search(sentence)
    check = literal_check(match["value"], sentence, Role.BUG) if match else None
    return [check] if check and match and not SHOULD_VARY.search(sentence[: match.start()]) else []


def _not_finite(sentence: str) -> list[Check]:
    value = not_finite(sentence)
    if not value:
        return []
    bug = Check(text=sentence, kind=CheckKind.VALUE, number=value, where=stated_device(sentence))
    right = opposed_value(sentence.partition(f" {value} ")[2])
    expected = literal_check(right, sentence, Role.EXPECTED) if right else None
    return [bug, expected] if expected else [bug]


# The first rule that reads the sentence decides, so the more specific rules come first.
_RULES = (
    _exception_with_message,
    missing_error,
    known_message,
    quoted_message,
    slowness,
    _exits,
    _seen_and_expected,
    _over_runs,
    _differs,
    two_sides,
    _failure,
    _varies,
    _attribute,
    _prints_nothing,
    _prints,
    _line_shows,
    _not_finite,
)
