"""Tells that a claimed output is gone, by the changed values: they are called right, or equal their twin.

Everything else in the output has to be as claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.output.literals import other_structure
from app.judging.output.printed_lines import Token, form_of, is_specific, same_tokens, tokens_of
from app.judging.output.printed_numbers import Number, matches

_MOST_LINES = 200
# A number with fewer digits stands in many sentences for other reasons.
_LEAST_DIGITS = 2
# A list of fewer lines may change for other reasons.
_LEAST_LINES = 4
# So many tokens in order are no accident.
_LEAST_TOKENS = 3
_Row = Sequence[Token]
# A line with such a label shows no bug. Where it changed, something else is wrong.
_REFERENCES = {"reference", "ref", "expected", "correct", "right", "true", "exact", "numpy"}


def shows_value_called_right(check: Check, called_right: Sequence[str], stdout: str) -> bool:
    """Whether all that changed in the claimed output became values that the report calls right."""
    if _is_rebuilt(check, called_right, stdout) or _is_completed(check, called_right, stdout):
        return True
    rows = [row for text in called_right if (row := tokens_of(text))]
    claimed = claimed_rows(check)
    pairs = pairs_of_lines(claimed, stdout)
    changed = _pairs_that_differ(pairs)
    own = [token for row, _ in changed for token in row if isinstance(token, Number)]
    right = [row for row in rows if not any(same_tokens(row, one) for one, _ in changed)]
    numbers = [
        number
        for row in right
        if len(row) == 1
        for number in row
        if isinstance(number, Number) and not any(matches(each, number) for each in own)
    ]
    return bool(changed) and all(_is_right(one, seen, right, numbers) for one, seen in changed)


def is_made_of_right_values(check: Check, called_right: Sequence[str], stdout: str) -> bool:
    """Whether the one claimed line is now several values that the report calls right, and nothing else."""
    claimed = claimed_rows(check)
    seen = [row for line in stdout.splitlines()[: _MOST_LINES + 1] if (row := tokens_of(line))]
    if len(claimed) != 1 or len(seen) != 1 or same_tokens(claimed[0], seen[0]):
        return False
    right = [row for text in called_right if (row := tokens_of(text)) and _is_telling(row)]
    rest, parts = list(seen[0]), 0
    while rest:
        fitting = [row for row in right if same_tokens(row, rest[: len(row)])]
        if not fitting:
            return False
        rest = rest[max(map(len, fitting)) :]
        parts += 1
    return parts > 1


def _is_telling(row: _Row) -> bool:
    """Whether it is no single short number or letter, which stands in many lines."""
    return (
        is_specific(row)
        or len(row) >= _LEAST_TOKENS
        or all(isinstance(token, Number) and token.digits >= _LEAST_DIGITS for token in row)
    )


def _is_rebuilt(check: Check, called_right: Sequence[str], stdout: str) -> bool:
    """Whether a claimed literal is built as the report calls it right: `['a,b']` in place of `['a', 'b']`."""
    if check.role is not Role.BUG or check.kind is not CheckKind.OUTPUT:
        return False
    claimed = [line.strip() for line in check.lines if line.strip()]
    lines = [line.strip() for line in stdout.splitlines()[: _MOST_LINES + 1] if line.strip()]
    if len(claimed) != len(lines):
        return False
    changed = [(one, seen) for one, seen in zip(claimed, lines, strict=True) if one.split() != seen.split()]
    right = {" ".join(text.split()) for text in called_right}
    return bool(changed) and all(
        other_structure(one, seen) and " ".join(seen.split()) in right for one, seen in changed
    )


def _is_completed(check: Check, called_right: Sequence[str], stdout: str) -> bool:
    """Whether the claimed list of lines has all its missing ones now, in place of some at its end."""
    claimed = [line.strip() for line in check.lines[:_MOST_LINES] if line.strip()]
    lines = [line.strip() for line in stdout.splitlines()[: _MOST_LINES + 1] if line.strip()]
    if check.role is not Role.BUG or check.kind is not CheckKind.OUTPUT or len(claimed) < _LEAST_LINES:
        return False
    new = [line for line in lines if line not in claimed]
    rest = [line for line in lines if line in claimed]
    right = {text for text in map(str.strip, called_right) if is_specific(tokens_of(text))}
    return bool(new) and len(lines) == len(claimed) and set(new) <= right and rest == claimed[: len(rest)]


def is_like_its_twin(
    check: Check, called_right: Sequence[str], stdout: str, *, should_agree: bool = False
) -> bool:
    """Whether two claimed lines of one form that differed are equal now, both as one of them was claimed.

    False where the report calls the other one right: then both would be wrong now.
    """
    claimed = claimed_rows(check)
    pairs = pairs_of_lines(claimed, stdout)
    if should_agree and _blocks_agree(claimed, [seen for _, seen in pairs]):
        return True
    if _labelled_values_agree(pairs, called_right):
        return True
    changed = _pairs_that_differ(pairs)
    if len(changed) != 1 or len(pairs) < 2:
        return False
    ((wrong, seen),) = changed
    # In place of a number, words such as `failed` may stand.
    has_number = any(isinstance(token, Number) for token in wrong)
    # If all that is wrong is that they differ, they may have different forms: `shape=(0,)`, `shape=(0, 1)`.
    is_any = not has_number or (should_agree and len(pairs) == 2)
    twins = [one for one, _ in pairs if one is not wrong and (is_any or form_of(one) == form_of(wrong))]
    finite = all(math.isfinite(token.value) for token in seen if isinstance(token, Number))
    if any(same_tokens(tokens_of(text), wrong) for text in called_right):
        return False
    is_value = any(isinstance(token, Number) for token in seen)
    return len(twins) == 1 and is_value and finite and same_tokens(twins[0], seen)


def _labelled_values_agree(pairs: Sequence[tuple[_Row, _Row]], called_right: Sequence[str]) -> bool:
    """Whether lines that are a label and a number all show the number now that the unchanged ones showed.

    False where the report calls the number of a changed line right.
    """
    rows = [row for pair in pairs for row in pair]
    if len(pairs) < 2 or not all(_is_label_with_number(row) for row in rows):
        return False
    if any(form_of(one) != form_of(seen) for one, seen in pairs):
        return False
    numbers = [(_last(one), _last(seen)) for one, seen in pairs]
    same = [one for one, seen in numbers if matches(one, seen)]
    changed = [(one, seen) for one, seen in numbers if not matches(one, seen)]
    if not same or not changed:
        return False
    if any(
        _REFERENCES & {str(token).casefold() for token in one[:-1]} for one, _ in _pairs_that_differ(pairs)
    ):
        return False
    value = same[0]
    right = [token for text in called_right for token in tokens_of(text) if isinstance(token, Number)]
    return (
        math.isfinite(value.value)
        and value.digits > _LEAST_DIGITS
        and all(matches(value, one) for one in same)
        and all(matches(value, seen) and not matches(value, one) for one, seen in changed)
        and not any(matches(each, one) for each in right for one, _ in changed)
    )


def _pairs_that_differ(pairs: Sequence[tuple[_Row, _Row]]) -> list[tuple[_Row, _Row]]:
    return [(one, seen) for one, seen in pairs if not same_tokens(one, seen)]


def _is_label_with_number(row: _Row) -> bool:
    return len(row) > 1 and isinstance(row[-1], Number) and not any(isinstance(t, Number) for t in row[:-1])


def _last(row: _Row) -> Number:
    (number,) = (token for token in row if isinstance(token, Number))
    return number


def _blocks_agree(claimed: Sequence[_Row], seen: Sequence[_Row]) -> bool:
    """Whether two blocks of as many lines that differed are equal now, both as one of them was claimed."""
    half = len(claimed) // 2
    if half < 2 or half * 2 != len(claimed) or len(seen) != len(claimed):
        return False
    blocks = (claimed[:half], claimed[half:])
    finite = all(math.isfinite(token.value) for row in seen for token in row if isinstance(token, Number))
    return (
        finite
        and not _same_rows(*blocks)
        and _same_rows(seen[:half], seen[half:])
        and any(_same_rows(block, seen[:half]) for block in blocks)
    )


def _same_rows(one: Sequence[_Row], other: Sequence[_Row]) -> bool:
    return all(map(same_tokens, one, other))


def claimed_rows(check: Check) -> list[_Row]:
    """The claimed lines as tokens, without those that have none."""
    if check.role is not Role.BUG or check.kind is not CheckKind.OUTPUT:
        return []
    return [row for line in check.lines[:_MOST_LINES] if (row := tokens_of(line))]


def pairs_of_lines(claimed: Sequence[_Row], stdout: str) -> list[tuple[_Row, _Row]]:
    """Each claimed line with the line that the script prints there. Empty if that is not plain."""
    seen = [row for line in stdout.splitlines()[: _MOST_LINES + 1] if (row := tokens_of(line))]
    if not claimed or len(seen) > _MOST_LINES:
        return []
    if len(seen) == len(claimed):
        return list(zip(claimed, seen, strict=True))
    forms, whole = list(map(form_of, claimed)), list(map(form_of, seen))
    places = [at for at in range(len(seen) - len(claimed) + 1) if whole[at : at + len(forms)] == forms]
    if not places:
        return []
    at = places[0]
    return list(zip(claimed, seen[at : at + len(claimed)], strict=True))


def _is_right(one: _Row, seen: _Row, right: Sequence[_Row], numbers: Sequence[Number]) -> bool:
    if any(same_tokens(row, seen) and is_specific(row) for row in right):
        return True
    if form_of(one) != form_of(seen):
        return False
    changed = [
        other
        for own, other in zip(one, seen, strict=True)
        if isinstance(own, Number) and isinstance(other, Number) and not matches(own, other)
    ]
    return all(
        number.digits >= _LEAST_DIGITS and any(matches(right_one, number) for right_one in numbers)
        for number in changed
    )
