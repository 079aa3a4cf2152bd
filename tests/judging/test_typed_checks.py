"""Fields that only a claim as data has: each changes what is judged. The examples of the page run."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from judging_builders import CPU, result, script, several

from app.intake.claim.claims import CheckKind
from app.intake.read import read
from app.intake.reading import Reading
from app.intake.typed.claim_form import claim_form
from app.intake.typed.typed_claim import claim_of_form
from app.judging.judgement import Verdict
from app.judging.verdict.attempts_needed import may_vary
from app.judging.verdict.job import judge_job
from app.judging.verdict.sighting import without_versions
from app.limits import NO_READ_LIMITS
from worker.contract import ExceptionFacts, Outcome, Result

PAGE = (Path(__file__).parents[2] / "docs" / "claims.md").read_text()
EXAMPLES = re.findall(
    r"^### (\w+)\n\n```python\n(.*?)```\n\n```json\n(.*?)```", PAGE, flags=re.DOTALL | re.MULTILINE
)
SECONDS = 20


def verdict(*checks: dict[str, Any], results: list[Result], **of_script: Any) -> str:
    claim = claim_of_form(claim_form({"checks": list(checks)}))
    return judge_job(claim, script(**of_script), CPU, results).verdict


def value(number: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "value", "number": number, **fields}


def output(*lines: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "output", "lines": list(lines), **fields}


def run(text: str, *, kind: str) -> list[Result]:
    """Three real runs of a script by this Python."""
    return [
        _run(text, attempt=f"a{number}", seconds=0.5 if kind == "hang" else SECONDS) for number in range(3)
    ]


def _run(text: str, *, attempt: str, seconds: float) -> Result:
    path = "/home/u/script.py"
    code = f"exec(compile({text!r}, {path!r}, 'exec'))"
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return result(outcome=Outcome.TIMED_OUT, idle=True, attempt=attempt)
    found = re.search(r"^(\w*(?:Error|Exception))(?:: (.*))?$", done.stderr, flags=re.MULTILINE)
    raised = None if found is None or done.returncode != 1 else (found[1], found[2] or "")
    return result(
        done.stdout,
        stderr=done.stderr,
        raised=raised,
        status=done.returncode if done.returncode > 0 else None,
        signal=signal.Signals(-done.returncode).name if done.returncode < 0 else None,
        attempt=attempt,
    )


def test_the_page_has_an_example_of_each_kind() -> None:
    kinds = [kind for kind, _, _ in EXAMPLES]
    assert len(kinds) == len(set(kinds))
    assert set(kinds) == {str(kind) for kind in CheckKind}


@pytest.mark.parametrize(("kind", "text", "claim"), EXAMPLES, ids=[kind for kind, _, _ in EXAMPLES])
def test_the_example_of_each_kind_meets_its_claim(kind: str, text: str, claim: str) -> None:
    reading: Reading = read(text, form="script", claim=claim, limits=NO_READ_LIMITS)
    assert reading.claim.checks[0].kind == kind
    judgement = judge_job(reading.claim, reading.scripts[0], CPU, run(reading.scripts[0].script, kind=kind))
    assert judgement.verdict is Verdict.REPRODUCED
    other = several(3, "something else 7")
    assert judge_job(reading.claim, reading.scripts[0], CPU, other).verdict not in {
        Verdict.REPRODUCED if kind != "no_error" else None,
        Verdict.FLAKY,
    }


def test_the_claim_at_the_head_of_the_page_has_a_valid_form() -> None:
    [data] = re.findall(r"```json\n(\{\"subject\".*?)```", PAGE, flags=re.DOTALL)
    assert claim_form(json.loads(data)).subject == "numpy"


@pytest.mark.parametrize(
    ("stream", "seen", "expected"),
    [
        ("stdout", {"stdout": "bad 1"}, Verdict.REPRODUCED),
        ("stdout", {"stderr": "bad 1"}, Verdict.CANNOT_SHOW),
        ("stderr", {"stderr": "bad 1"}, Verdict.REPRODUCED),
        ("stderr", {"stdout": "bad 1"}, Verdict.CANNOT_SHOW),
        (None, {"stderr": "bad 1"}, Verdict.REPRODUCED),
    ],
)
def test_a_stream_is_the_only_one_that_counts(
    stream: str | None, seen: dict[str, str], expected: str
) -> None:
    fields = {} if stream is None else {"stream": stream}
    text = seen.get("stdout", "")
    results = several(3, text, stderr=seen.get("stderr", ""))
    assert verdict(output("bad 1", **fields), results=results) == expected


@pytest.mark.parametrize(
    ("occurrence", "label", "expected"),
    [
        (1, None, Verdict.DIFFERENT),
        (2, None, Verdict.REPRODUCED),
        (1, "loss", Verdict.REPRODUCED),
        (2, "loss", Verdict.DIFFERENT),
        (3, "loss", Verdict.CANNOT_SHOW),
        (None, None, Verdict.REPRODUCED),
    ],
)
def test_an_occurrence_is_the_only_line_that_counts(
    occurrence: int | None, label: str | None, expected: str
) -> None:
    fields = {
        name: given for name, given in (("occurrence", occurrence), ("label", label)) if given is not None
    }
    results = several(3, "start 5\n\nloss 0.25\nloss 0.5\n")
    assert verdict(value("0.25", **fields), results=results) == expected


def test_several_lines_are_looked_for_from_that_line_on() -> None:
    results = several(3, "a 1\nb 2\na 1\nb 3\n")
    assert verdict(output("a 1", "b 3", occurrence=1), results=results) == Verdict.DIFFERENT
    assert verdict(output("a 1", "b 3", occurrence=3), results=results) == Verdict.REPRODUCED


@pytest.mark.parametrize(
    ("tolerance", "printed", "expected"),
    [
        (None, "0.7009", Verdict.DIFFERENT),
        (0.001, "0.7009", Verdict.REPRODUCED),
        (0.001, "0.699", Verdict.REPRODUCED),
        (0.001, "0.72", Verdict.DIFFERENT),
        (0.001, "nan", Verdict.DIFFERENT),
    ],
)
def test_a_tolerance_widens_the_number(tolerance: float | None, printed: str, expected: str) -> None:
    fields = {} if tolerance is None else {"tolerance": tolerance}
    assert verdict(value("0.700", **fields), results=several(3, f"loss {printed}")) == expected


def test_the_right_value_is_no_bug_within_a_tolerance() -> None:
    bug, right = value("0.99", tolerance=0.02), value("1.0", role="expected")
    assert verdict(bug, right, results=several(3, "1.0")) == Verdict.NOT_REPRODUCED


def test_an_expected_value_replaces_only_its_own_bug() -> None:
    first = value("86", id="a", label="sum", occurrence=1)
    second = value("7", id="b", label="size", occurrence=1)
    right = value("4950", role="expected", of="a", label="sum", occurrence=1)
    mended = several(3, "sum 4950\nsize 7\n")
    assert verdict(first, right, results=mended) == Verdict.NOT_REPRODUCED
    # The other bug is still there, and nothing says what is right in its place.
    assert verdict(first, second, right, results=mended) == Verdict.DIFFERENT
    assert (
        verdict(second, {**right, "of": "b"}, results=several(3, "sum 4950\nsize 8\n"))
        == Verdict.NOT_REPRODUCED
    )
    assert verdict(second, results=several(3, "sum 4950\nsize 8\n")) == Verdict.DIFFERENT
    both = [first, second, right]
    assert verdict(*both, results=several(3, "sum 4950\nsize 8\n")) == Verdict.DIFFERENT


def test_the_right_value_counts_only_at_its_own_line() -> None:
    """A script that prints a wrong 87 and then its own reference is not mended."""
    bug = value("86", occurrence=1)
    right = value("4950", role="expected", occurrence=1)
    assert verdict(bug, right, results=several(3, "87\n4950\n")) == Verdict.DIFFERENT
    assert verdict(bug, right, results=several(3, "4950\n4950\n")) == Verdict.NOT_REPRODUCED
    # Without a line of its own, it is looked for where the bug would be.
    del right["occurrence"]
    assert verdict(bug, right, results=several(3, "87\n4950\n")) == Verdict.DIFFERENT


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"package.numpy": "2.1.3"}, Verdict.NOT_REPRODUCED),
        ({"package.numpy": "2.0.0"}, Verdict.CANNOT_SHOW),
        ({"package.numpy": "3.0"}, Verdict.CANNOT_SHOW),
        ({"torch.version": "2.1.3"}, Verdict.CANNOT_SHOW),
    ],
)
def test_a_no_from_outside_the_range_does_not_count(environment: dict[str, str], expected: str) -> None:
    check = {"kind": "exception", "type": "ValueError", "where": {"package": "numpy", "range": ">=2.1,<3"}}
    assert verdict(check, results=several(3, "fine", environment=environment)) == expected


def test_a_range_of_torch_reads_a_local_version_and_a_bisection_ignores_it() -> None:
    check = {"kind": "exception", "type": "ValueError", "where": {"range": ">=2.4"}}
    for version, expected in (("2.13.0+cpu", Verdict.NOT_REPRODUCED), ("2.3.1+cu121", Verdict.CANNOT_SHOW)):
        results = several(3, "fine", environment={"torch.version": version})
        assert verdict(check, results=results) == expected
    claim = without_versions(claim_of_form(claim_form({"checks": [check]})))
    assert claim.checks[0].where.range is None


def test_a_check_of_another_script_is_not_judged() -> None:
    text = "# it\n\n```python\nprint(1)\n```\n\nThis one works:\n\n```python\nprint(2)\n```\n"
    claim = json.dumps({"checks": [{**value("1"), "at": {"script": 1}}]})
    reading = read(text, form="report", claim=claim, limits=NO_READ_LIMITS)
    main, other = reading.scripts
    assert judge_job(reading.claim, main, CPU, several(3, "1")).verdict is Verdict.REPRODUCED
    assert judge_job(reading.claim, other, CPU, several(3, "1")).verdict is Verdict.OBSERVED


def test_random_fractions_are_what_the_claim_says() -> None:
    lines = ["count 3 mean 0.12345"]
    seen = several(3, "count 3 mean 0.98765")
    assert verdict(output(*lines), results=seen) == Verdict.DIFFERENT
    assert verdict(output(*lines, random=True), results=seen) == Verdict.REPRODUCED
    assert verdict(output(*lines), results=seen, unseeded=True) == Verdict.REPRODUCED
    assert verdict(output(*lines, random=False), results=seen, unseeded=True) == Verdict.DIFFERENT
    claim = claim_of_form(claim_form({"checks": [output(*lines, random=True)]}))
    assert may_vary(claim, script())


def test_a_raised_error_is_shown_as_facts() -> None:
    """The runs of this file give the facts that a node gives."""
    [one, *_] = run("raise ValueError('no')\n", kind="exception")
    assert one.observation.exception == ExceptionFacts(type="ValueError", message="no")
