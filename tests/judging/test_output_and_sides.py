"""Printed lines against claimed ones, and the two sides of a difference."""

from __future__ import annotations

import pytest
from judging_builders import result

from app.intake.claim.claims import Check, CheckKind
from app.judging.check.output_checks import judge_output
from app.judging.judgement import CheckResult
from app.judging.output.printed_lines import equal_tokens, fingerprint, found_lines, nearest_line, tokens_of
from app.judging.output.sides import lines_of_sides, side_says, sides_agree

BOTH = ("cpu", "cuda")


@pytest.mark.parametrize(
    ("claimed", "stdout"),
    [
        (["equal False"], "equal False\n"),
        (["equal False"], "result: equal False (checked)\n"),
        (
            ["rank 0 loss 31.862553", "rank 1 loss 48.674088"],
            "rank 1 loss 48.674088\nrank 0 loss 31.862553\n",
        ),
        (["tensor(88., dtype=torch.bfloat16)"], "tensor(88., device='cuda:0', dtype=torch.bfloat16)\n"),
        (["[0.5]"], "[np.float64(0.5)]\n"),
        (["[nan nan", " nan]"], "[nan nan nan]\n"),
        (["-inf"], "cpu -inf\n"),
        (["1"], "1\n"),
        # Whoever writes `it prints 2.0 and 0.0` doesn't say whether they stand on one line.
        (["2.0 0.0"], "2.0\n0.0\n"),
        (["2.0 0.0"], "start\n2.0\n0.0\n"),
    ],
)
def test_a_claimed_line_is_found(claimed: list[str], stdout: str) -> None:
    assert found_lines(claimed, stdout)


@pytest.mark.parametrize(
    ("claimed", "stdout"),
    [
        (["equal False"], "equal True\n"),
        (["loss 0.98999"], "loss -0.98999\n"),
        (["1"], "[1, 2, 3]\n"),
        (["a 1", "a 1"], "a 1\n"),
        ([], "anything\n"),
        (["", "   "], "anything\n"),
        (["value 0.5"], ""),
        (["2.0 0.0"], "0.0\n2.0\n"),
        (["2.0 0.0"], "2.0\n1.0\n0.0\n"),
        (["[2.0 0.0]"], "2.0\n0.0\n"),
        (["a b"], "a\nb\n"),
    ],
)
def test_another_line_is_not(claimed: list[str], stdout: str) -> None:
    assert not found_lines(claimed, stdout)


def test_the_nearest_line_has_the_same_words() -> None:
    assert nearest_line(["loss nan"], "step 1\nloss 0.5\n") == "loss 0.5"
    assert nearest_line(["loss nan"], "nothing\n") is None


def test_a_fingerprint_knows_values_and_no_addresses_or_durations() -> None:
    assert fingerprint("at 0x7f001122aabb took 1.5 s") == fingerprint("at 0x7fffffff0000 took 2.5 s")
    assert fingerprint("0x1.56e8420000000p+6") != fingerprint("0x1.56e41e0000000p+6")
    assert fingerprint("loss 0.5") != fingerprint("loss 0.50001")


def test_a_dtype_is_no_number() -> None:
    assert equal_tokens(tokens_of("tensor([1], dtype=torch.int64)"), tokens_of("[1]"))


def test_sides_by_their_names() -> None:
    found = lines_of_sides("res_cpu: 1\nGPU: 2\nCPU and GPU differ\nother\n", BOTH)
    assert found == {"cpu": ["res_cpu: 1"], "cuda": ["GPU: 2"]}
    assert not sides_agree(found)
    assert side_says(found["cuda"], "cuda", "cuda 2")
    assert not side_says(found["cuda"], "cuda", "cuda 1")


def test_a_label_may_stand_above_its_value() -> None:
    found = lines_of_sides("CPU result:\n1.0\n2.0\nGPU result:\n1.0\n3.0\n", BOTH)
    assert found == {"cpu": ["CPU result:", "1.0", "2.0"], "cuda": ["GPU result:", "1.0", "3.0"]}


def test_torch_itself_says_where_a_tensor_is() -> None:
    found = lines_of_sides("tensor([1, 2])\ntensor([1, 3], device='cuda:0')\n", BOTH)
    assert not sides_agree(found)
    assert sides_agree(lines_of_sides("tensor([1, 2])\ntensor([1, 2], device='cuda:0')\n", BOTH))


def test_sides_that_print_the_same_agree_to_the_last_digit() -> None:
    assert sides_agree(lines_of_sides("cpu nan 1.0\ncuda nan 1.0\n", BOTH))
    assert not sides_agree(lines_of_sides("cpu 0.50001\ncuda 0.5000\n", BOTH))
    assert not sides_agree(lines_of_sides("cpu 0.0\ncuda -0.0\n", BOTH))


def test_sides_of_any_name() -> None:
    assert lines_of_sides("a.left 1\nb.right 2\n", ("a.left", "b.right")) == {
        "a.left": ["a.left 1"],
        "b.right": ["b.right 2"],
    }
    assert lines_of_sides("left 1\nright 2\n", ("up", "down")) == {"up": [], "down": []}
    assert not side_says([], "left", "1")


def test_a_traceback_that_quotes_the_script_prints_nothing() -> None:
    stderr = (
        'Traceback (most recent call last):\n  File "/home/u/script.py", line 1, in <module>\n'
        "    print(total 17.5)\nValueError: no total\n"
    )
    check = Check(text="total 17.5", kind=CheckKind.OUTPUT, lines=("total 17.5",))
    assert judge_output(check, result(raised=("ValueError", "no total"), stderr=stderr)) is CheckResult.OTHER
    message = check.model_copy(update={"lines": ("no total",)})
    assert judge_output(message, result(raised=("ValueError", "no total"), stderr=stderr)) is CheckResult.MET
