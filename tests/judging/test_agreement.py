"""A report that can be read in two ways, and how it is known that a bug is gone, in our own sentences."""

from __future__ import annotations

import pytest
from judging_builders import COMMENT_AND_ERROR, CPU, several

from app.intake.read import read
from app.judging.check.reach import TWO_READINGS
from app.judging.judgement import JudgedCell, Verdict
from app.judging.verdict.job import judge_job
from app.judging.verdict.run import judge_run
from app.judging.verdict.summary import summarise
from app.limits import NO_READ_LIMITS

ANSWER = """# view and reshape differ

```python
import torch
k = torch.arange(6)
print(torch.equal(k.view(2, 3), k.reshape(2, 3)))
```

Output:

```
False
```
"""


def summary_of(report: str, stdout: str) -> tuple[Verdict, str]:
    reading = read(report, limits=NO_READ_LIMITS, form="report")
    script = reading.scripts[0]
    results = several(3, stdout)
    judgement = judge_job(reading.claim, script, CPU, results)
    cell = JudgedCell(
        job_id="j", script=script.digest, target=CPU, judgement=judgement, results=tuple(results)
    )
    return judgement.verdict, summarise(judge_run(reading, [cell]), [cell])


def test_two_readings_are_in_sight_and_nothing_is_cleared() -> None:
    verdict, summary = summary_of(COMMENT_AND_ERROR, "tensor(5.)\n")
    assert verdict is Verdict.OBSERVED
    assert summary == (
        "The report can be read in two ways, and the script shows only one of them. Say which one is meant."
    )


def test_the_reason_names_the_readings() -> None:
    reading = read(COMMENT_AND_ERROR, limits=NO_READ_LIMITS, form="report")
    judgement = judge_job(reading.claim, reading.scripts[0], CPU, several(3, "tensor(5.)\n"))
    assert judgement.reason == TWO_READINGS
    assert [finding.text for finding in judgement.findings] == [
        "RuntimeError: scale is not set",
        "tensor(5.)",
    ]


@pytest.mark.parametrize(
    ("stdout", "verdict", "sentence"),
    [
        ("True\n", Verdict.NOT_REPRODUCED, "The script answers the opposite of what the report shows."),
        ("False\n", Verdict.REPRODUCED, "It happens, as claimed"),
        ("maybe\n", Verdict.DIFFERENT, "something else happens"),
    ],
)
def test_the_oracle_is_named(stdout: str, verdict: Verdict, sentence: str) -> None:
    seen, summary = summary_of(ANSWER, stdout)
    assert seen is verdict
    assert sentence in summary
