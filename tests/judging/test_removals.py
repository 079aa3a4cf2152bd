"""What a newer version lacks: announced by a warning of the older one, or not."""

from __future__ import annotations

import pytest
from judging_builders import claim, raises, result, script

from app.intake.reading import Reading
from app.judging.cause.cause import cause_of_pair
from app.judging.cause.removals import Removal, removal_of
from app.judging.judgement import JudgedCell
from app.judging.verdict.job import judge_job
from app.judging.verdict.run import judge_run
from app.runs.run_object.bisection_state import BisectionState, Subject
from app.runs.run_object.erase import erased_bisection
from app.runs.run_object.removal_part import removal_part, removal_words, warning_words
from app.targets.target import Target
from app.targets.versions.series import Point, Series
from worker.contract import CapturedWarning, Result

OLD, NEW = {"package.numpy": "2.3.5"}, {"package.numpy": "2.4.0"}


def warned(text: str, category: str = "DeprecationWarning", *, line: int = 5, **more: str) -> Result:
    warning = CapturedWarning(
        category=category, base=category, text=text, file="/home/u/script.py", line=line, script_line=line
    )
    return result("1\n", warnings=[warning], environment={**OLD, **more})


def failed(kind: str, message: str, *, line: int = 5, environment: dict[str, str] | None = None) -> Result:
    stderr = f'Traceback (most recent call last):\n  File "/home/u/script.py", line {line}, in <module>\n'
    return result(raised=(kind, message), stderr=stderr, environment=environment or NEW)


def found(older: Result, newer: Result, code: str = "") -> Removal | None:
    return removal_of(script(code), [older], newer, imported={"numpy"})


ATTRIBUTE = ("AttributeError", "module 'numpy' has no attribute 'in1d'")
ARGUMENT = ("TypeError", "reshape() got an unexpected keyword argument 'newshape'")
SCALAR = ("TypeError", "only 0-dimensional arrays can be converted to Python scalars")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("`in1d` is deprecated. Use `np.isin` instead.", ATTRIBUTE),
        ("np.in1d will be removed", ATTRIBUTE),
        ("`newshape` keyword argument is deprecated, use `shape=...`", ARGUMENT),
        ("the newshape argument goes", ARGUMENT),
        ("cannot import this: `numpy.product` is deprecated", ("ImportError", "cannot import name 'product' from 'numpy'")),  # noqa: E501
        ("numpy.core is deprecated", ("ModuleNotFoundError", "No module named 'numpy.core'")),
        ("Conversion of an array with ndim > 0 to a scalar is deprecated", SCALAR),
        ("Calling np.sum(generator) is deprecated, and will give a different result", ("TypeError", "Calling np.sum(generator) is deprecated.Use np.sum(np.fromiter(generator))")),  # noqa: E501
        ("You are using torch.load with `weights_only=False`", ("_pickle.UnpicklingError", "Weights only load failed: `weights_only` is True")),  # noqa: E501
    ],
)  # fmt: skip
def test_a_warning_of_what_is_gone_announced_it(text: str, error: tuple[str, str]) -> None:
    removal = found(warned(text), failed(*error))
    assert removal is not None
    assert (removal.cause, removal.package, removal.older, removal.newer) == (
        "announced", "numpy", "2.3.5", "2.4.0",
    )  # fmt: skip
    part = removal_part(removal)
    assert part is not None
    assert warning_words(part) == f"DeprecationWarning: {text}"
    assert "2.3.5 warned" in removal_words(part)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        # Another name, another line, another kind of warning, no warning.
        (warned("`trapz` is deprecated"), failed(*ATTRIBUTE)),
        (warned("a word such as in1d somewhere", line=2), failed(*ATTRIBUTE)),
        (warned("in1d overflowed", "RuntimeWarning"), failed(*ATTRIBUTE)),
        (result("1\n", environment=OLD), failed(*ATTRIBUTE)),
    ],
)
def test_without_a_warning_of_it_the_name_was_removed(older: Result, newer: Result) -> None:
    removal = found(older, newer)
    assert removal is not None
    assert (removal.cause, removal.warning) == ("api_removed", None)


@pytest.mark.parametrize(
    ("older", "newer", "code"),
    [
        (warned("`in1d` is deprecated"), failed(*ATTRIBUTE, environment=OLD), ""),
        (warned("`in1d` is deprecated"), failed(*ATTRIBUTE, environment={"package.numpy": "2.2"}), ""),
        (failed(*ATTRIBUTE, environment=OLD), failed(*ATTRIBUTE), ""),
        (result("1\n", environment=OLD), failed("ValueError", "Unable to avoid copy"), ""),
        (result("1\n", environment=OLD), failed(*SCALAR), ""),
        (warned("numpy changes", line=2), failed(*SCALAR), ""),
        (result("1\n", environment=OLD), failed("AttributeError", "'Mine' object has no attribute 'x'"), "class Mine: pass"),  # noqa: E501
        (result("1\n", environment=OLD), failed("AttributeError", "'NoneType' object has no attribute 'x'"), ""),  # noqa: E501
        (result("1\n", environment=OLD), failed("ModuleNotFoundError", "No module named 'scipy.misc'"), ""),
        (warned("`in1d` is deprecated"), result("2\n", environment=NEW), ""),
    ],
)  # fmt: skip
def test_nothing_is_said_to_be_gone_that_is_not(older: Result, newer: Result, code: str) -> None:
    assert found(older, newer, code) is None


def test_two_warnings_of_one_statement_foretell_only_what_they_name() -> None:
    one, other = (warned(text) for text in ("first is deprecated", "second is deprecated"))
    both = one.observation.model_copy(
        update={"warnings": [*(one.observation.warnings or []), *(other.observation.warnings or [])]}
    )
    assert found(one.model_copy(update={"observation": both}), failed(*SCALAR)) is None


def test_a_warning_in_stderr_counts_if_none_were_noted() -> None:
    text = "/home/u/script.py:5: DeprecationWarning: `in1d` is deprecated.\n  print(np.in1d(a, b))\n"
    removal = found(result("1\n", stderr=text, environment=OLD), failed(*ATTRIBUTE))
    assert removal is not None
    assert removal.cause == "announced"
    # Noted, and none was shown: what stands in stderr is the script's own print.
    removal = found(result("1\n", stderr=text, warnings=[], environment=OLD), failed(*ATTRIBUTE))
    assert removal is not None
    assert removal.cause == "api_removed"


def test_a_local_part_of_a_version_is_not_shown() -> None:
    newer = failed(*ATTRIBUTE, environment={"package.numpy": "2.4.0+www.example.com"})
    removal = found(warned("`in1d` is deprecated"), newer)
    assert removal is not None
    assert removal.newer == "2.4.0"


def test_two_attempts_of_two_versions_have_it_as_their_cause() -> None:
    sides = [(Target(), warned("`in1d` is deprecated")), (Target(), failed(*ATTRIBUTE))]
    code = script("import numpy as np\nnp.in1d(1, 2)\n")
    assert {cause_of_pair(code, *sides), cause_of_pair(code, *sides[::-1])} == {"announced"}
    sides[0] = (Target(), warned("`in1d` is deprecated").model_copy(update={"environment": NEW}))
    assert cause_of_pair(code, *sides) == "error_asymmetry"


def test_a_run_over_two_versions_says_what_was_announced() -> None:
    code, told = script("import numpy as np\nnp.in1d(1, 2)\n"), claim(raises(*ATTRIBUTE))
    cells = []
    for version, seen in (
        ("2.3.5", warned("`in1d` is deprecated")),
        ("2.4.0", failed(*ATTRIBUTE)),
    ):
        target = Target(toolchain=f"numpy-{version}")
        results = tuple(seen.model_copy(update={"attempt_id": f"a{number}"}) for number in range(5))
        judgement = judge_job(told, code, target, results)
        cells.append(
            JudgedCell(
                job_id=version, script=code.digest, target=target, judgement=judgement, results=results
            )
        )
    run = judge_run(Reading(scripts=(code,), claim=told), cells)
    assert (run.cause, run.defect, run.finding.missing) == ("announced", "no", ())
    assert run.finding.removal is not None
    alone = judge_run(Reading(scripts=(code,), claim=told), cells[1:])
    assert (alone.cause, alone.defect) == (None, "undecided")


def test_a_bisection_says_what_the_last_good_version_announced() -> None:
    told, code = claim(raises(*ATTRIBUTE)), script("import numpy as np\nnp.in1d(1, 2)\n")
    versions = ("2.3.4", "2.3.5", "2.4.0")
    points = tuple(Point(each, Target(toolchain=f"numpy-{each}")) for each in versions)
    state = BisectionState(
        Subject(told, code), Series("numpy", points), error=0.01, most_attempts=50, toolchains={}
    )
    while not state.done:
        for place in state.next_places(1):
            seen = failed(*ATTRIBUTE) if place == 2 else warned("`in1d` is deprecated")
            state.add_trial(place, [seen.model_copy(update={"outcome": seen.outcome})])
    document = state.document("b1", "finished")
    assert (document.last_good, document.first_bad) == ("2.3.5", "2.4.0")
    assert document.removal is not None
    assert (document.removal.cause, document.removal.category) == ("announced", "DeprecationWarning")
    erased = erased_bisection(document.model_dump(mode="json", by_alias=True))
    assert erased["removal"]["text"] == ""
