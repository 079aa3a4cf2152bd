"""Attempts recorded on real cards are judged; each expected verdict was settled by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from default_limits import read
from judging_builders import NO_CUDA, check, claim, differs, prints, raises, result, script

from app.intake.claim.claims import CheckKind, Claim, Role
from app.intake.reading import Reading, Script
from app.judging.judgement import JudgedCell
from app.judging.verdict.job import judge_job
from app.judging.verdict.run import judge_run
from app.targets.target import Target
from worker.contract import Device, Outcome, Result

CASES: dict[str, Any] = {
    name: case
    for name, case in json.loads(
        (Path(__file__).parents[1] / "recordings" / "cases_expected.json").read_text()
    ).items()
    if not name.startswith("_")
}
VARIES = check(CheckKind.VARIES, "another result every time")
CLAIMS: dict[str, Claim] = {
    "logdet_singular": claim(differs("cpu -inf", "cuda -108.34196472167969")),
    "weights_roundtrip": claim(prints("equal False"), prints("equal True", role=Role.EXPECTED)),
    "sgd_drift": claim(),
    "tf32_matmul": claim(differs()),
    "bernoulli_streams": claim(differs()),
    "svd_sign": claim(differs()),
    "index_add_atomics": claim(VARIES),
    "uninitialised_read": claim(VARIES),
    "index_out_of_range": claim(
        differs(
            "cpu IndexError index out of range in self",
            "cuda AcceleratorError CUDA error: device-side assert triggered",
        )
    ),
    "integer_division": claim(differs("cpu RuntimeError ZeroDivisionError", "cuda [4294967295, -2]")),
    "gpu_out_of_memory": claim(raises("torch.OutOfMemoryError", "CUDA out of memory.")),
    "needs_gpu_exits_zero": claim(),
    "null_pointer": claim(check(CheckKind.CRASH, "Segmentation fault (core dumped)", signal="SIGSEGV")),
    "sometimes": claim(raises("AssertionError", "lost the draw")),
    "wrong_kernel": claim(
        check(
            CheckKind.VALUE,
            "the last value is 0.9899924993515015",
            number="0.9899924993515015",
            position="last",
        ),
        check(
            CheckKind.VALUE,
            "expected -0.9899924993515015",
            number="-0.9899924993515015",
            position="last",
            role=Role.EXPECTED,
        ),
    ),
    "two_gpus": claim(
        prints(
            "rank 0 reduced [3.0, 3.0, 3.0, 3.0] loss 31.862553",
            "rank 1 reduced [3.0, 3.0, 3.0, 3.0] loss 48.674088",
        )
    ),
}
GPUS = {
    "two_gpus": 2,
    "index_add_atomics": 0,
    "uninitialised_read": 0,
    "null_pointer": 0,
    "sometimes": 0,
    "wrong_kernel": 0,
}


def script_of(name: str) -> Script:
    return script(CASES[name]["script"], gpus=GPUS.get(name, 1), unseeded=name == "sometimes")


def read_by_intake(name: str) -> tuple[Claim, Script]:
    """Script and claim as intake reads them."""
    reading = read(CASES[name]["script"], form="script", claim=CASES[name]["claim"])
    return reading.claim, reading.scripts[0]


def recorded(name: str, entry: dict[str, Any], number: int, *, used: list[str]) -> Result:
    """An entry of the recording as the node would have sent it."""
    fields: dict[str, Any] = {"attempt": f"a{number}", "stderr": entry["stderr"], "devices_used": used}
    if entry["exit"] < 0:
        return result(entry["stdout"], signal={-11: "SIGSEGV"}[entry["exit"]], **fields)
    raised = None
    if entry["exit"] and name == "gpu_out_of_memory":
        raised = (
            "torch.OutOfMemoryError",
            "CUDA out of memory. Tried to allocate 4096.00 GiB. GPU 0 has a total capacity of 139.80 GiB",
        )
    elif entry["exit"]:
        kind, _, message = entry["stderr"].splitlines()[-1].partition(": ")
        raised = (kind, message)
    return result(entry["stdout"], raised=raised, **fields)


def on_cards() -> list[Any]:
    """Every recorded series, and what is right of it. Two attempts of `sometimes` are no series: both may
    fail.
    """
    rows = []
    for name, case in CASES.items():
        for where, entries in case["observed"].items():
            setting = where.partition(" ")[2]
            target = f"cuda {setting}".strip()
            target = "cuda gpus=2" if name == "two_gpus" else target
            # A setting that changes nothing for this case isn't listed for it.
            accepted = case["accept"].get(target, case["accept"]["cuda"])
            if (name, where) != ("sometimes", "h100"):
                rows.append(pytest.param(name, setting, entries, accepted, id=f"{name} on {where}"))
    return rows


@pytest.mark.parametrize("by_intake", [False, True], ids=["by hand", "as read"])
@pytest.mark.parametrize(("name", "setting", "entries", "accepted"), on_cards())
def test_what_cards_printed_gets_the_verdict_that_is_right(
    name: str, setting: str, entries: list[dict[str, Any]], accepted: list[str], *, by_intake: bool
) -> None:
    key, _, value = setting.partition("=")
    target = Target(
        device=Device.CUDA, gpus=GPUS.get(name, 1) or 1, settings={key: value or "on"} if key else {}
    )
    used = (
        ["cpu"]
        if name in {"null_pointer", "sometimes", "two_gpus", "wrong_kernel", "needs_gpu_exits_zero"}
        else ["cuda:0"]
    )
    results = [recorded(name, entry, number, used=used) for number, entry in enumerate(entries)]
    if name == "needs_gpu_exits_zero":
        results = [
            made.model_copy(
                update={
                    "observation": made.observation.model_copy(update={"devices_opened": ["/dev/nvidia0"]})
                }
            )
            for made in results
        ]
    told, code = read_by_intake(name) if by_intake else (CLAIMS[name], script_of(name))
    assert judge_job(told, code, target, results).verdict in accepted


CHILD = (
    "\n\n-- Process {} terminated with the following error:\nTraceback (most recent call last):\n"
    '  File "distributed_c10d.py", line 2181, in _new_process_group_helper\n    raise RuntimeError("…")\n{}'
)
# What torch 2.13.0+cpu does with each script.
ON_CPU: dict[str, dict[str, Any]] = {
    name: {"raised": ("AssertionError", NO_CUDA)}
    for name in (
        "weights_roundtrip",
        "sgd_drift",
        "gpu_out_of_memory",
        "bernoulli_streams",
        "svd_sign",
        "tf32_matmul",
    )
} | {
    "logdet_singular": {"stdout": "cpu -inf\n", "raised": ("AssertionError", NO_CUDA)},
    "index_add_atomics": {"stdout": "cpu ['-0x1.dca91e0000000p+1', '0x1.ce5d8a0000000p+7']\n"},
    "uninitialised_read": {"stdout": "cpu 3.1196362041930872e+38\n"},
    "index_out_of_range": {
        "stdout": f"cpu IndexError index out of range in self\ncuda AssertionError {NO_CUDA}\n"
    },
    "integer_division": {
        "stdout": "cpu RuntimeError ZeroDivisionError\n",
        "raised": ("AssertionError", NO_CUDA),
    },
    "needs_gpu_exits_zero": {"stdout": "CUDA is not available, skipping\n"},
    "null_pointer": {"stdout": "before\n", "signal": "SIGSEGV"},
    "wrong_kernel": {
        "stdout": "[1.0, 0.8775824904441833, 0.5403021574020386, -0.8011437058448792, 0.9899924993515015]\n"
    },
    "two_gpus": {
        "raised": (
            "torch.multiprocessing.spawn.ProcessRaisedException",
            CHILD.format(0, "RuntimeError: Distributed package doesn't have NCCL built in\n"),
        )
    },
}


@pytest.mark.parametrize("by_intake", [False, True], ids=["by hand", "as read"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "sometimes"])
def test_a_cpu_node_says_only_what_it_can(name: str, *, by_intake: bool) -> None:
    told, code = read_by_intake(name) if by_intake else (CLAIMS[name], script_of(name))
    results = [result(**ON_CPU[name], devices_used=["cpu"], attempt=f"a{number}") for number in range(3)]
    assert judge_job(told, code, Target(), results).verdict in CASES[name]["accept"]["cpu"]


def test_one_card_cannot_show_what_needs_two() -> None:
    raised = (
        "torch.multiprocessing.spawn.ProcessRaisedException",
        CHILD.format(
            1, "torch.AcceleratorError: CUDA error: invalid device ordinal\nGPU device may be out of range\n"
        ),
    )
    judgement = judge_job(
        CLAIMS["two_gpus"], script_of("two_gpus"), Target(device=Device.CUDA, gpus=1), [result(raised=raised)]
    )
    assert judgement.verdict == "cannot_show"
    assert judgement.reason is not None
    assert judgement.reason.code == "too_few_gpus"


def test_three_in_ten_is_flaky_whatever_the_order() -> None:
    lost, fine = {"raised": ("AssertionError", "lost the draw")}, {"stdout": "fine\n"}
    for series in ([lost, fine, fine], [fine, fine, lost]):
        results = [result(**fields, attempt=f"a{number}") for number, fields in enumerate(series)]
        judgement = judge_job(CLAIMS["sometimes"], script_of("sometimes"), Target(), results)
        assert (judgement.verdict, judgement.matched, judgement.of) == ("flaky", 1, 3)


def test_every_case_has_a_claim() -> None:
    assert CLAIMS.keys() == CASES.keys()
    assert (
        recorded("null_pointer", CASES["null_pointer"]["observed"]["h100"][0], 1, used=[]).outcome
        is Outcome.CRASHED
    )


CAUSES = {
    "bernoulli_streams": "random_streams",
    "svd_sign": "sign_or_order",
    "tf32_matmul": "reduced_precision",
    "index_out_of_range": "error_asymmetry",
    "integer_division": "error_asymmetry",
    "index_add_atomics": "nondeterministic_kernel",
    "sometimes": "unseeded",
    "logdet_singular": "not_analysed",
    "wrong_kernel": "not_analysed",
    "uninitialised_read": "not_analysed",
    "gpu_out_of_memory": None,
    "null_pointer": None,
    "weights_roundtrip": None,
    "sgd_drift": None,
}


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_that_needs_no_tracing_is_found_and_no_other_is_made_up(name: str) -> None:
    told, code = read_by_intake(name)
    cells = []
    for where, entries in CASES[name]["observed"].items():
        machine, _, setting = where.partition(" ")
        if machine != ("h200" if name == "sometimes" else "h100"):
            continue
        key, _, value = setting.partition("=")
        target = Target(device=Device.CUDA, gpus=1, settings={key: value or "on"} if key else {})
        changed = {"flags_changed": {"precision.cuda.matmul": "tf32"}} if name == "tf32_matmul" else {}
        results = [recorded(name, entry, number, used=["cuda:0"]) for number, entry in enumerate(entries)]
        results = [
            made.model_copy(update={"observation": made.observation.model_copy(update=changed)})
            for made in results
        ]
        judgement = judge_job(told, code, target, results)
        cells.append(
            JudgedCell(
                job_id=where, script=code.digest, target=target, judgement=judgement, results=tuple(results)
            )
        )
    found = judge_run(Reading(scripts=(code,), claim=told), cells)
    assert found.cause == CAUSES[name]
    assert found.defect != "yes"
