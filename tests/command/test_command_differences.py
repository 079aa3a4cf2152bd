"""Differences in a terminal: a few lines, the value with its distance, the likeliest reason."""

from __future__ import annotations

from typing import Any

from test_command_render import attempt, document, job, shown

from app.ids import new_id

VALUE = {
    "about": "value: x",
    "baseline": "[1]: 2.0",
    "candidate": "[1]: 2.5",
    "note": "1 of 3 elements differ, at most 9 ULP of float32 apart",
}


def told(*differences: dict[str, Any]) -> str:
    first, second = attempt(), attempt()
    comparison = {
        "id": new_id(),
        "baseline": first["id"],
        "candidate": second["id"],
        "result": "different",
        "differences": differences,
    }
    jobs = [job("observed", attempts=[first]), job("observed", attempts=[second], settings={"threads": "1"})]
    return shown(document("observed", jobs=jobs, comparisons=[comparison]), 1000)


def line(number: int) -> dict[str, Any]:
    return {
        "about": "stdout",
        "baseline": f"loss {number}.5",
        "candidate": f"loss {number}.25",
        "note": "off by 0.25",
    }


def test_a_value_is_told_with_its_distance() -> None:
    text = told(VALUE, {"about": "environment: blas.path", "baseline": "a", "candidate": "b"})
    assert (
        "value: x '[1]: 2.5' against '[1]: 2.0' "
        "(1 of 3 elements differ, at most 9 ULP of float32 apart) (blas.path b against a)" in text
    )


def test_many_lines_leave_a_place_for_the_first_value() -> None:
    text = told(
        *(line(number) for number in range(9)), VALUE, {"about": "stderr", "baseline": "a", "candidate": "b"}
    )
    assert text.count("stdout 'loss") == 2
    assert "at most 9 ULP" in text
    assert "stderr" not in text


def test_a_claimed_number_is_told_exactly() -> None:
    check = {"text": "loss 0.953", "kind": "value", "role": "bug", "where": {}, "over": "attempt"}
    finding = {
        "text": "loss 0.953",
        "result": "met",
        "observed": "0.953",
        "exact": "w is 0.9531213045120239 in torch.float32",
    }
    run = document(
        "reproduced",
        report={"claim": {"checks": [check]}},
        jobs=[job("reproduced", checks=[finding], attempts=[attempt()])],
    )
    assert "Held: w is 0.9531213045120239 in torch.float32" in shown(run, 400)


def test_a_claimed_hang_is_shown_where_it_stood() -> None:
    stacks = "\n".join(f'  File "x.py", line {number}, in f{number}' for number in range(40))
    check = {"text": "it hangs", "kind": "hang", "role": "bug", "where": {}, "over": "attempt"}
    finding = {"text": "it hangs", "result": "met", "observed": ""}
    claim = {"claim": {"checks": [check]}}
    text = shown(
        document(
            "reproduced",
            report=claim,
            jobs=[job("reproduced", checks=[finding], attempts=[attempt(stacks=stacks)])],
        ),
        400,
    )
    assert "Where it hung" in text
    assert "line 0, in f0" in text
    assert "28 more lines" in text
    other = document("reproduced", jobs=[job("reproduced", attempts=[attempt(stacks=stacks)])])
    assert "Where it hung" not in shown(other, 400)
