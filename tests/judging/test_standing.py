"""The position of a claimed value in the output; parts that only a card prints; other ways to start."""

from __future__ import annotations

import pytest
from judging_builders import CPU, check, claim, prints, raises, script, several

from app.intake.claim.claims import Check, CheckKind, Role, Where
from app.judging.output.value_position import shown_numbers
from app.judging.verdict.job import judge_job


@pytest.mark.parametrize(
    ("line", "label", "shown"),
    [
        ("7", None, ["7"]),
        ("loss: 7", None, ["7"]),
        ("tensor([7, 7])", None, ["7", "7"]),
        ("2 + 5 = 7", None, ["7"]),
        ("value 7 of 10, result 4", None, []),
        ("value 7 of 10, result 4", "result", ["4"]),
        ("step 3 loss 0.12345", None, ["0.12345"]),
        ("got 7 expected 4", None, ["7"]),
        ("no nan here 1.0", None, ["1.0"]),
        ("nan: False", None, []),
        ("loss nan acc 0.5", "loss", ["nan"]),
        ("[1.0, nan]", None, ["nan"]),
    ],
)
def test_numbers_that_a_line_shows(line: str, label: str | None, shown: list[str]) -> None:
    assert [number.text for number in shown_numbers(line, label)] == shown


def verdict(*checks: Check, stdout: str = "", **result: object) -> str:
    fields: dict[str, object] = {"stdout": stdout, **result}
    return judge_job(claim(*checks), script(), CPU, several(3, **fields)).verdict.value


def value(number: str, *, role: Role = Role.BUG, **fields: object) -> Check:
    return check(CheckKind.VALUE, f"it returns {number}", role=role, number=number, **fields)


def test_a_number_somewhere_in_a_line_decides_nothing() -> None:
    both = [value("7"), value("4", role=Role.EXPECTED)]
    assert verdict(*both, stdout="value 7 of 10, result 4\n") == "cannot_show"
    assert verdict(*both, stdout="7\n") == "reproduced"
    assert verdict(*both, stdout="4\n") == "not_reproduced"
    assert verdict(*both, stdout="5\n") == "different"
    named = [value("7", label="result"), value("4", role=Role.EXPECTED, label="result")]
    assert verdict(*named, stdout="value 7 of 10, result 4\n") == "not_reproduced"


def test_a_word_is_no_value() -> None:
    assert verdict(value("nan"), stdout="no nan here 1.0\n") == "different"
    assert verdict(prints("nan"), stdout="nan: False\n") == "different"
    assert verdict(prints("nan"), stdout="loss nan\n") == "reproduced"
    assert verdict(prints("True"), stdout="equal: True\n") == "reproduced"


def test_a_status_is_what_a_crash_returns() -> None:
    assert verdict(value("139"), signal="SIGSEGV") == "reproduced"
    assert verdict(value("139"), stdout="140\n") == "different"


def test_nothing_is_printed() -> None:
    nothing = check(CheckKind.OUTPUT, "prints nothing", lines=("",))
    assert (verdict(nothing), verdict(nothing, stdout="x\n")) == ("reproduced", "different")
    assert verdict(nothing, raised=("ValueError", "x")) == "cannot_show"


@pytest.mark.parametrize(
    "claimed",
    [
        prints("tensor(7, device='cuda:0')"),
        raises("RuntimeError", "CUDA error: device-side assert triggered"),
    ],
)
def test_a_no_from_a_cpu_is_none_where_only_a_card_says_so(claimed: Check) -> None:
    wanted = prints("tensor(4)", role=Role.EXPECTED)
    assert verdict(claimed, wanted, stdout="tensor(4)\n") == "cannot_show"


def test_a_no_from_another_way_of_starting_is_none() -> None:
    started = value("7", where=Where(mode="torchrun"))
    assert verdict(started, value("4", role=Role.EXPECTED), stdout="4\n") == "cannot_show"
    assert verdict(started, stdout="7\n") == "reproduced"
