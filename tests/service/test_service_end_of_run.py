"""A run that ends is judged once: no job is judged twice and no pair of attempts is compared twice."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from numpy_versions import answer, changes, say_hello, send
from stage import Stage

from app.bounded import calls
from app.judging.comparison.comparison import compare
from app.judging.verdict.job import judge_job
from app.targets.target import Target


def replace_everywhere(patch: pytest.MonkeyPatch, function: Callable[..., Any], other: Any) -> None:
    """Replace a function in every module that has imported it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("app."):
            for attribute, value in list(vars(module).items()):
                if value is function:
                    patch.setattr(module, attribute, other)


class Counts:
    """Counts how often each job was judged and each pair of attempts compared."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.judged: Counter[str] = Counter()
        self.compared: Counter[tuple[str, str]] = Counter()
        # Calls in another process could not be counted.
        patch.setattr(calls, "_forker", None)
        replace_everywhere(patch, judge_job, self._judge)
        replace_everywhere(patch, compare, self._compare)

    def _judge(self, claim: Any, script: Any, target: Target, results: Any, **more: Any) -> Any:
        self.judged[f"{script.digest} {target.label()}"] += 1
        return judge_job(claim, script, target, results, **more)

    def _compare(self, baseline: Any, candidate: Any, **more: Any) -> Any:
        self.compared[baseline.attempt_id, candidate.attempt_id] += 1
        return compare(baseline, candidate, **more)


@pytest.mark.parametrize(
    "broken", [{"2.0.0": True, "2.1.0": False}, {"2.0.0": False, "2.1.0": False}], ids=["changed", "never"]
)
def test_each_job_is_judged_once_when_a_run_ends(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, broken: dict[str, bool]
) -> None:
    say_hello(stage, *broken)
    send(stage, *broken)
    attempts = stage.dispatch()
    assert len(attempts) == 6
    for attempt in attempts[:-1]:
        answer(stage, attempt, broken)
    counts = Counts(monkeypatch)
    answer(stage, attempts[-1], broken)
    assert len(changes(stage)) == sum(broken.values())
    assert list(counts.judged.values()) == [1, 1]
    assert counts.compared
    assert set(counts.compared.values()) == {1}
