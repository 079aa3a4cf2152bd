"""A part that a script skips without a GPU is no evidence against a claim."""

from __future__ import annotations

import pytest
from judging_builders import CPU, CUDA, check, claim, prints, raises, result, script, several

from app.intake.claim.claims import Check, CheckKind, Role
from app.judging.check.guards import has_part_for_gpu
from app.judging.verdict.job import judge_job
from app.targets.target import Target
from worker.contract import Result

ASKS = "if torch.cuda.is_available():\n"


def answer(
    checks: list[Check], results: list[Result], *, text: str = "x.cuda()", gpus: int = 0, target: Target = CPU
) -> tuple[str, str]:
    judgement = judge_job(claim(*checks), script(text, gpus=gpus), target, results)
    return judgement.verdict, "" if judgement.reason is None else judgement.reason.code


def test_a_script_that_needs_a_gpu_shows_nothing_without_one() -> None:
    fails = raises("AssertionError", "kernels differ")
    assert answer([fails], several(3), gpus=1) == ("cannot_show", "no_gpu")
    assert answer([fails], several(3, raised=("AssertionError", "needs a GPU")), gpus=1) == (
        "cannot_show",
        "no_gpu",
    )
    assert answer([raises("AssertionError")], several(3, raised=("AssertionError", "")), gpus=1) == (
        "cannot_show",
        "no_gpu",
    )
    assert answer([prints("3")], several(3, raised=("RuntimeError", "This needs CUDA")), gpus=1) == (
        "cannot_show",
        "no_gpu",
    )
    assert answer([], several(3, raised=("RuntimeError", "This needs CUDA")), gpus=1) == (
        "cannot_show",
        "no_gpu",
    )


def test_what_is_seen_before_the_gpu_counts() -> None:
    assert answer(
        [raises("ValueError", "bad size")], several(3, raised=("ValueError", "bad size")), gpus=1
    ) == ("reproduced", "")
    assert answer([], several(3, "cpu 3\n"), gpus=1) == ("observed", "")
    on_cpu = [
        check(CheckKind.VALUE, "on the CPU it prints 5, expected 6", number="5"),
        check(CheckKind.VALUE, "on the CPU it prints 5, expected 6", number="6", role=Role.EXPECTED),
    ]
    assert answer(on_cpu, several(3, "6\n"), gpus=1) == ("not_reproduced", "")


def test_a_part_for_the_gpu_alone_is_a_path_not_taken() -> None:
    text = f"import torch\n{ASKS}    for _ in range(3):\n        assert f(), 'kernels differ'\n"
    fails = raises("AssertionError", "kernels differ")
    assert answer([fails], several(3), text=text) == ("cannot_show", "path_not_taken")
    assert answer([fails], several(3), text=text, target=CUDA) == ("not_reproduced", "")
    assert answer(
        [fails], several(3), text=f"device = 'cpu'\n{ASKS}    device = 'cuda'\nassert f(device)\n"
    ) == ("not_reproduced", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{ASKS}    main()\n", True),
        (f"{ASKS}    with torch.no_grad():\n        model()\n", True),
        (f"{ASKS}    main()\nelse:\n    other()\n", False),
        (
            f"{ASKS}    model.cuda()\n    torch.cuda.manual_seed(0)\n    print(torch.cuda.get_device_name())\n",  # noqa: E501
            False,
        ),
        ("if not torch.cuda.is_available():\n    main()\n", False),
        ("if use_cuda:\n    main()\n", False),
        ("if torch.cuda.is_available(", False),
    ],
)
def test_parts_for_a_gpu_are_found(text: str, *, expected: bool) -> None:
    assert has_part_for_gpu(text) is expected


def test_a_function_that_says_it_was_removed_is_stale() -> None:
    gone = ("RuntimeError", "This function was deprecated since version 1.9 and is now removed.")
    assert answer([prints("3")], [result(raised=gone)]) == ("cannot_show", "stale_reproducer")
    assert (
        answer(
            [prints("3")], [result(raised=("AttributeError", "'Tensor' object has no attribute 'lstsq'"))]
        )[1]
        == "stale_reproducer"
    )
    assert (
        answer([prints("3")], [result(raised=("AttributeError", "'NoneType' object has no attribute 'x'"))])[
            0
        ]
        == "different"
    )
    assert answer([raises(*gone)], [result(raised=gone)]) == ("reproduced", "")


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ({"stderr": "s\n----\nRan 1 test in 0.001s\n\nOK (skipped=1)\n"}, "gave_up_politely"),
        ({"stdout": "============ 2 skipped in 0.01s ============\n"}, "gave_up_politely"),
        ({"stderr": ".s\n----\nRan 2 tests in 0.001s\n\nOK (skipped=1)\n"}, ""),
        ({"stdout": "==== 1 passed, 1 skipped in 0.01s ====\n"}, ""),
    ],
)
def test_tests_that_skip_themselves_show_nothing(shown: dict[str, str], expected: str) -> None:
    verdict, code = answer([raises("AssertionError", "3 != 4")], several(3, **shown), text="")
    assert (verdict, code) == ("cannot_show" if expected else "not_reproduced", expected)


def test_a_value_may_be_logged() -> None:
    value = check(CheckKind.VALUE, "prints 3", number="3")
    assert answer([value], several(3, stderr="INFO:root:3\n"), text="") == ("reproduced", "")
    assert (
        answer([value], several(3, stderr="/home/u/script.py:3: UserWarning: 3 of them\n  f(3)\n"), text="")[
            0
        ]
        == "cannot_show"
    )
    assert answer([value], several(3, "4\n", stderr="3\n"), text="")[0] == "different"
