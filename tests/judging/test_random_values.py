"""Random numbers where an exact value is expected, and where nan or inf stood."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from judging_builders import CPU, prints, result

from app.intake.claim.claims import Check, CheckKind, Role
from app.intake.code.printed_texts import prints_of_inputs
from app.intake.read import read
from app.judging.gone.random_values import (
    misses_exact_value,
    nan_became_ordinary,
    without_printed_inputs,
)
from app.judging.judgement import Verdict
from app.judging.output.printed_numbers import numbers_in
from app.judging.verdict.job import judge_job
from app.limits import NO_READ_LIMITS
from app.targets.planning.plan import RepeatPlan

APART = """# Dichte und dünne Matrizen geben Verschiedenes

```python
import numpy as np
a = np.random.randn(4, 4)
print("Abstand:", np.abs(a @ a - a).max(), np.abs(a - a.T).max())
```

Actual output:

```
Abstand: 13.3964 5.4991
```

Expected output:

```
Abstand: 0.0 0.0
```
"""
GARBAGE = """# The layer gives nan

```python
import torch
print(torch.nn.Linear(2, 3)(torch.randn(2, 2)))
```

prints

```
tensor([[nan, 2.0282e+36, nan],
        [-5.0249e+27, nan, 8.3669e+35]])
```
"""


def verdict(text: str, *outputs: str, plan: RepeatPlan | None = None) -> Verdict:
    reading = read(text, form="report", limits=NO_READ_LIMITS)
    results = [result(stdout, attempt=f"a{at}") for at, stdout in enumerate(outputs)]
    return judge_job(reading.claim, reading.scripts[0], CPU, results, plan=plan).verdict


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        (("11.5761 8.0151", "12.75 4.25", "10.5 6.125"), Verdict.REPRODUCED),
        (("0.0 0.0", "0.0 0.0", "0.0 0.0"), Verdict.NOT_REPRODUCED),
        # It is rounding, on the other side, of another size, or only one of them.
        (("1e-08 2e-08", "1e-08 3e-08", "2e-08 2e-08"), Verdict.CANNOT_SHOW),
        (("-11.5 -8.5", "-12.5 -4.5", "-10.5 -6.5"), Verdict.CANNOT_SHOW),
        (("1157.5 801.5", "1275.5 425.5", "1050.5 612.5"), Verdict.CANNOT_SHOW),
        (("11.5 0.0", "12.5 0.0", "10.5 0.0"), Verdict.CANNOT_SHOW),
        # Not all attempts show it.
        (("11.5 8.5", "12.5 4.5", "0.25 0.125"), Verdict.CANNOT_SHOW),
        (("11.5 8.5", "12.5 4.5", "0.0 0.0"), Verdict.FLAKY),
    ],
)
def test_random_numbers_miss_an_exact_value(numbers: Sequence[str], expected: Verdict) -> None:
    assert verdict(APART, *(f"Abstand: {each}\n" for each in numbers)) is expected


@pytest.mark.parametrize(
    ("claimed", "right", "printed", "is_missed"),
    [
        ("ratio: 1.63", "ratio: 1.0", "ratio: 1.81\n", True),
        ("rows 7 lost", "rows 0 lost", "rows 11 lost\n", True),
        # A mean or a variance that is right comes near its exact value by chance.
        ("variance: 5.31", "variance: 1.0", "variance: 1.42\n", False),
        # What is expected is drawn, too.
        ("loss: 0.7312", "loss: 0.2241", "loss: 0.8123\n", False),
        # Words differ, more is printed, or nan came.
        ("ratio: 1.63", "ratio: 1.0", "share: 1.81\n", False),
        ("ratio 1.63", "ratio 1.0", "ratio 1.81\nratio 1.9\n", False),
        ("ratio: 1.63", "ratio: 1.0", "ratio: nan\n", False),
        ("ratio: 1.63", "ratio: 1.0", "ratio: 1.0\n", False),
    ],
)
def test_an_exact_value_is_missed_as_claimed(
    claimed: str, right: str, printed: str, *, is_missed: bool
) -> None:
    expected = [prints(right, role=Role.EXPECTED)]
    assert misses_exact_value(prints(claimed), expected, printed, ()) is is_missed


def test_one_claimed_number_is_held_against_the_one_in_its_place() -> None:
    bug = Check(text="13.5", kind=CheckKind.VALUE, number="13.5")
    right = Check(text="0", kind=CheckKind.VALUE, role=Role.EXPECTED, number="0")
    twelve, two, tiny = numbers_in("12.5 2.5 1e-9")
    assert misses_exact_value(bug, [right], "", [twelve])
    assert not misses_exact_value(bug, [right], "", [two])
    assert not misses_exact_value(bug, [right], "", [tiny])
    assert not misses_exact_value(bug, [right], "", [twelve, two])


ORDINARY = "tensor([[0.5, -0.25, 0.75],\n        [0.125, -0.625, 0.3]])\n"
LARGE = ORDINARY.replace("-0.25", "-3.5e+30")


@pytest.mark.parametrize(
    ("attempts", "printed", "expected"),
    [
        (59, ORDINARY, Verdict.NOT_REPRODUCED),
        # nan in a tenth of the draws would not be seen by so few.
        (20, ORDINARY, Verdict.CANNOT_SHOW),
        # nan became garbage or zeros.
        (59, LARGE, Verdict.DIFFERENT),
        (59, ORDINARY.replace("0.125", "1e-39"), Verdict.DIFFERENT),
        (59, ORDINARY.replace("0.125", "0.0"), Verdict.DIFFERENT),
        (59, "tensor([[0.5, 0.25]])\n", Verdict.DIFFERENT),
    ],
)
def test_nan_that_became_ordinary_numbers_is_gone(attempts: int, printed: str, expected: Verdict) -> None:
    plan = RepeatPlan(at_most=attempts, exact=False)
    assert verdict(GARBAGE, *[printed] * attempts, plan=plan) is expected


def test_nan_in_one_of_the_attempts_is_seen() -> None:
    still = GARBAGE.split("prints")[1].strip("\n`") + "\n"
    plan = RepeatPlan(at_most=59, exact=False)
    assert verdict(GARBAGE, *[ORDINARY] * 58, still, plan=plan) in {Verdict.FLAKY, Verdict.REPRODUCED}


@pytest.mark.parametrize(
    ("claimed", "printed", "is_gone"),
    [
        (["loss nan step 3"], "loss 0.75 step 3\n", True),
        (["Verlust: inf nan"], "Verlust: 0.75 2.5\n", True),
        # Any script prints one number. A count has to stay.
        (["nan"], "0.75\n", False),
        (["loss nan step 3"], "loss 0.75 step 4\n", False),
        # The sides that the report shows belong together, and differ now.
        (["[0.5 nan]", "[0.5 0.5]"], "[0.7 0.2]\n[0.7 0.9]\n", False),
        # One number everywhere is no draw.
        (["a: nan", "b: nan"], "a: 0.75\nb: 0.75\n", False),
        (["a: nan", "b: nan"], "a: 0.75\nb: 0.5\n", True),
        (["loss 0.5 step 3"], "loss 0.75 step 3\n", False),
    ],
)
def test_an_output_without_nan(claimed: list[str], printed: str, *, is_gone: bool) -> None:
    assert nan_became_ordinary(prints(*claimed), printed) is is_gone


def test_nan_that_is_called_right_is_not_gone() -> None:
    text = GARBAGE + "\nThe result should be `nan` in the first row only.\n"
    plan = RepeatPlan(at_most=59, exact=False)
    assert verdict(text, *[ORDINARY] * 59, plan=plan) is not Verdict.NOT_REPRODUCED


PUTS_NAN = "import torch\nx = torch.rand(2, 2)\nx[0, 1] = float('nan')\n"
INPUT = ["tensor([[0.5312,    nan],", "        [0.1234, 0.8765]])"]
INPUT_NOW = "tensor([[0.2345,    nan],\n        [0.6543, 0.7621]])\n"
MEANS, MEANS_NOW = "tensor([   nan, 0.4999])", "tensor([0.2345, 0.7082])\n"


@pytest.mark.parametrize(
    ("code", "are_inputs"),
    [
        ("print(x)\nprint(x.mean())", (True, False)),
        ("y = 3\nprint(x)\nz = torch.nanmean(x)\nprint(z)", (True, False)),
        # What was done with it may have changed it.
        ("z = torch.nanmean(x)\nprint(x)\nprint(z)", (False, False)),
        ("x.nan_to_num_()\nprint(x)", (False,)),
        ("print(torch.nanmean(x))\nprint(x)", (False, False)),
        ("x = torch.nanmean(x)\nprint(x)", (False,)),
        # It is not plain which print shows what.
        ("print(x)\nfor row in x:\n    print(row)", ()),
        ("print(x)\nprint('mean', x.mean())", ()),
    ],
)
def test_prints_of_inputs_with_nan(code: str, are_inputs: tuple[bool, ...]) -> None:
    assert prints_of_inputs(PUTS_NAN + code) == are_inputs


@pytest.mark.parametrize("code", ["s = pd.Series([1.5, float('nan')])", "s = np.array([np.nan, 2.0])"])
def test_a_literal_with_nan_is_an_input(code: str) -> None:
    assert prints_of_inputs(f"{code}\nprint(s)\nprint(s.mean())") == (True, False)


@pytest.mark.parametrize(
    ("claimed", "printed", "is_gone"),
    [
        ([*INPUT, MEANS], INPUT_NOW + MEANS_NOW, True),
        # The claim shows the result alone.
        ([MEANS], INPUT_NOW + MEANS_NOW, True),
        # It is still nan, in the same or another place, or zero.
        ([*INPUT, MEANS], INPUT_NOW + MEANS + "\n", False),
        ([*INPUT, MEANS], INPUT_NOW + "tensor([0.2345,    nan])\n", False),
        ([*INPUT, MEANS], INPUT_NOW + "tensor([0.0000, 0.7082])\n", False),
        # The input has more of them, or more is printed.
        ([*INPUT, MEANS], INPUT_NOW.replace("0.6543", "   nan") + MEANS_NOW, False),
        ([*INPUT, MEANS], INPUT_NOW + MEANS_NOW + MEANS_NOW, False),
    ],
)
def test_nan_that_the_script_puts_into_its_input_is_no_bug(
    claimed: Sequence[str], printed: str, *, is_gone: bool
) -> None:
    script = PUTS_NAN + "print(x)\nprint(torch.nanmean(x, dim=1))"
    assert nan_became_ordinary(*without_printed_inputs(prints(*claimed), printed, script)) is is_gone
