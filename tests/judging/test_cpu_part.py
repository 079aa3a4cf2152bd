"""In a script that uses both devices, the CPU's lines are judged where it ended for want of a GPU."""

from __future__ import annotations

import pytest
from default_limits import read
from judging_builders import CPU, several

from app.judging.judgement import JudgedCell, Verdict
from app.judging.verdict.job import judge_job
from app.judging.verdict.run import judge_run
from app.judging.verdict.summary import summarise

REPORT = """# log1p gives inf on the CPU

```
>>> import torch
>>> t = torch.tensor(1.5e+38).bfloat16()
>>> t
tensor(1.5000e+38, dtype=torch.bfloat16)
>>> t.log1p()
tensor(inf, dtype=torch.bfloat16)
>>> t.cuda().log1p()
tensor(88., device='cuda:0', dtype=torch.bfloat16)
```
"""
INPUT = "tensor(1.5000e+38, dtype=torch.bfloat16)\n"


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        # The CPU has the GPU's value now, it has the claimed one, or another one.
        ("tensor(88., dtype=torch.bfloat16)\n", Verdict.NOT_REPRODUCED),
        ("tensor(inf, dtype=torch.bfloat16)\n", Verdict.REPRODUCED),
        ("tensor(12., dtype=torch.bfloat16)\n", Verdict.CANNOT_SHOW),
        ("tensor(nan, dtype=torch.bfloat16)\n", Verdict.CANNOT_SHOW),
        # The script ended before the claimed line.
        ("", Verdict.CANNOT_SHOW),
    ],
)
def test_the_lines_of_the_cpu_are_judged_alone(line: str, verdict: Verdict) -> None:
    reading = read(REPORT)
    failure = ("AssertionError", "Torch not compiled with CUDA enabled")
    results = several(3, INPUT + line, raised=failure)
    assert judge_job(reading.claim, reading.scripts[0], CPU, results).verdict is verdict


def test_the_answer_says_that_the_gpu_did_not_run() -> None:
    """The two lines were not compared with each other: only one of them was printed."""
    reading = read(REPORT)
    failure = ("AssertionError", "Torch not compiled with CUDA enabled")
    results = several(3, f"{INPUT}tensor(88., dtype=torch.bfloat16)\n", raised=failure)
    script = reading.scripts[0]
    judgement = judge_job(reading.claim, script, CPU, results)
    cell = JudgedCell(
        job_id="j", script=script.digest, target=CPU, judgement=judgement, results=tuple(results)
    )
    text = summarise(judge_run(reading, [cell]), [cell])
    assert "whose own part did not run" in text
    assert "equal now" not in text


APART = """# Wrong convolution on the CPU, right on the GPU

```python
import torch
print(torch.ones(1, 1))  # tensor([[4.]]) WRONG!
print(torch.ones(1, 1).cuda())  # tensor([[1.]], device='cuda:0') right
```
"""


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("tensor([[1.]])\n", Verdict.NOT_REPRODUCED),
        ("tensor([[4.]])\n", Verdict.REPRODUCED),
        ("tensor([[7.]])\n", Verdict.CANNOT_SHOW),
        ("", Verdict.CANNOT_SHOW),
    ],
)
def test_the_right_line_of_the_gpu_may_be_an_expected_one(line: str, verdict: Verdict) -> None:
    reading = read(APART)
    failure = ("AssertionError", "Torch not compiled with CUDA enabled")
    results = several(5, line, raised=failure)
    assert judge_job(reading.claim, reading.scripts[0], CPU, results).verdict is verdict
