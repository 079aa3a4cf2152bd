"""A crash is gone where the claimed statement refuses its input with an ordinary error, in every attempt."""

from __future__ import annotations

from typing import Any

import pytest
from judging_builders import CPU, result, script

from app.intake.claim.claims import Check, CheckKind, Claim
from app.judging.judgement import JobJudgement, Verdict
from app.judging.verdict.job import judge_job
from app.targets.planning.plan import RepeatPlan

SEGFAULT = Check(text="Segmentation fault", kind=CheckKind.CRASH, signal="SIGSEGV")
TITLE = "lib.fill kills the interpreter"
SCRIPT = "import lib\na = lib.table(3)\nlib.fill(a, [])\n"
NO, DIFFERENT = Verdict.NOT_REPRODUCED, Verdict.DIFFERENT


def raised(kind: str, message: str = "nothing to fill with", *lines: int, attempt: str = "a0") -> Any:
    frames = "".join(f'  File "/home/u/script.py", line {line}, in f\n    f()\n' for line in lines or (3,))
    stderr = f"Traceback (most recent call last):\n{frames}{kind}: {message}\n"
    return result(raised=(kind, message), stderr=stderr, attempt=attempt)


def judged(
    *results: Any,
    text: str = SCRIPT,
    check: Check = SEGFAULT,
    title: str = TITLE,
    errors: tuple[str, ...] = (),
    **of_script: Any,
) -> JobJudgement:
    claim = Claim(checks=(check,), text=title, right_errors=errors)
    attempts = [each.model_copy(update={"attempt_id": f"a{at}"}) for at, each in enumerate(results)]
    return judge_job(claim, script(text, **of_script), CPU, attempts)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ValueError", "nothing to fill with"),
        ("TypeError", "attribute name must be string, not 'int'"),
        ("RuntimeError", "la taille -1 est négative"),
        ("IndexError", "index 7 is out of range"),
        ("lib.errors.ShapeValueError", "大きさが負です"),
    ],
)
def test_a_crash_that_became_a_refusal_is_gone(kind: str, message: str) -> None:
    found = judged(*[raised(kind, message)] * 3)
    assert found.verdict is NO
    assert found.findings[0].oracle == "clean_refusal"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        # Something is missing here, or the script is broken.
        ("ImportError", "cannot import name 'fill'"),
        ("ModuleNotFoundError", "No module named 'lib'"),
        ("NameError", "name 'lib' is not defined"),
        ("SyntaxError", "invalid syntax"),
        ("AttributeError", "module 'lib' has no attribute 'fill'"),
        ("FileNotFoundError", "No such file or directory: 'a.bin'"),
        ("OSError", "cannot load the library"),
        ("MemoryError", "Unable to allocate 8 GiB"),
        ("RuntimeError", "out of memory"),
        ("RuntimeError", "lib is not compiled with this backend"),
        ("RuntimeError", "INTERNAL ASSERT FAILED at table.cpp"),
        # The function is another one than in the report.
        ("TypeError", "fill() takes 1 positional argument but 2 were given"),
        ("TypeError", "fill() got an unexpected keyword argument 'mode'"),
        ("ValueError", "fill was removed in version 3"),
        # Something was looked up, and nothing was refused.
        ("lib.LookupKeyError", "no function with the name ''"),
        ("AssertionError", "a is not b"),
        ("ValueError", ""),
    ],
)
def test_another_error_says_nothing_about_the_crash(kind: str, message: str) -> None:
    assert judged(*[raised(kind, message)] * 3).verdict is not NO


def test_all_attempts_have_to_refuse_alike() -> None:
    one, other = raised("ValueError"), raised("TypeError", "a list is needed")
    assert judged(one, one, other).verdict is DIFFERENT
    assert judged(one, one, raised("ValueError", "something else is wrong")).verdict is DIFFERENT
    assert judged(one, one, result("done\n")).verdict is DIFFERENT
    assert judged(one, one, result(signal="SIGABRT")).verdict is DIFFERENT
    assert judged(one, one, result(signal="SIGSEGV")).verdict is Verdict.FLAKY
    assert judged(*[raised("ValueError", f"bad handle 0x7f00000000{at}0") for at in range(3)]).verdict is NO


@pytest.mark.parametrize(
    ("text", "lines", "verdict"),
    [
        # What follows only shows what the statement made.
        ("import lib\ny = lib.fill([])\nprint(y, y.shape)\n", (2,), NO),
        ("import lib\nwith lib.quiet():\n    lib.fill([])\n", (3,), NO),
        ("import lib\ndef f():\n    return lib.fill([])\n\nf()\n", (5, 3), NO),
        # A statement before the last one does the crashing, perhaps, or the last one does.
        (SCRIPT, (2,), DIFFERENT),
        ("import lib\nlib.fill([])\nlib.close()\n", (2,), DIFFERENT),
        ("import lib\ny = lib.fill([])\nprint(y.sum())\n", (2,), DIFFERENT),
        ("import lib\ndef f():\n    a = lib.table(-1)\n    lib.fill(a)\n\nf()\n", (6, 3), DIFFERENT),
        ("import lib\nwith lib.quiet():\n    a = lib.table(-1)\n    lib.fill(a)\n", (3,), DIFFERENT),
    ],
)
def test_the_last_statement_has_to_refuse(text: str, lines: tuple[int, ...], verdict: Verdict) -> None:
    assert judged(*[raised("ValueError", "bad", *lines)] * 3, text=text).verdict is verdict


def test_the_claimed_statement_has_to_refuse_where_it_is_known() -> None:
    at = SEGFAULT.model_copy(update={"at": 2})
    text = "import lib\nlib.fill([])\nlib.close()\n"
    assert judged(*[raised("ValueError", "bad", 2)] * 3, text=text, check=at).verdict is NO
    assert judged(*[raised("ValueError", "bad", 3)] * 3, text=text, check=at).verdict is DIFFERENT


def test_the_title_has_to_name_what_the_script_uses() -> None:
    refused = [raised("ValueError")] * 3
    assert judged(*refused, title="Absturz in fill").verdict is NO
    assert judged(*refused, title="lib segfaults").verdict is DIFFERENT
    loose = SEGFAULT.model_copy(update={"loose": True})
    assert judged(*refused, check=loose).verdict is not NO


def test_another_error_than_the_one_that_is_asked_for_is_no_refusal() -> None:
    assert judged(*[raised("ValueError")] * 3, errors=("TypeError",)).verdict is DIFFERENT
    assert judged(*[raised("TypeError")] * 3, errors=("TypeError",)).verdict is NO


def test_an_error_of_a_compiled_function_that_names_the_right_one_is_it() -> None:
    named = raised("RuntimeError", "throw_if_div_error, cpp_prefix.h:827, ZeroDivisionError")
    assert judged(named, named, named, errors=("ZeroDivisionError",)).verdict is NO
    other = raised("RuntimeError", "the sizes differ")
    assert judged(other, other, other, errors=("ZeroDivisionError",)).verdict is DIFFERENT


@pytest.mark.parametrize(
    ("body", "verdict"),
    [("    return lib.fill(a)\n", NO), ("    a = lib.table(a)\n    return lib.fill(a)\n", DIFFERENT)],
)
def test_the_frame_of_a_compiled_function_names_its_first_line(body: str, verdict: Verdict) -> None:
    text = f"import lib\n@lib.compile\ndef f(a):\n{body}f([])\n"
    last = text.count("\n")
    assert judged(*[raised("ValueError", "bad", last, 2)] * 3, text=text).verdict is verdict


def test_chance_needs_many_attempts_here_too() -> None:
    threads = "import lib, threading\nlib.fill(threading.Lock())\n"
    claim = Claim(checks=(SEGFAULT,), text=TITLE)
    attempts = [raised("ValueError", "bad", 2, attempt=f"a{at}") for at in range(5)]
    found = judge_job(claim, script(threads), CPU, attempts, plan=RepeatPlan(at_most=5))
    assert found.verdict is Verdict.CANNOT_SHOW


def internal(kind: str, message: str) -> Check:
    return Check(text=f"{kind}: {message}", kind=CheckKind.EXCEPTION, exception_type=kind, message=message)


UNBOUND = internal("UnboundLocalError", "local variable 'step' referenced before assignment")
MISSING = internal("NameError", "name '_handle' is not defined")


@pytest.mark.parametrize(
    ("check", "kind", "text", "verdict"),
    [
        (UNBOUND, "ValueError", SCRIPT, NO),
        (MISSING, "TypeError", SCRIPT, NO),
        (internal("SystemError", "error return without exception set"), "ValueError", SCRIPT, NO),
        # An error of the same sort took the place of another, or the script itself is the reason.
        (UNBOUND, "RuntimeError", SCRIPT, DIFFERENT),
        (UNBOUND, "AttributeError", SCRIPT, DIFFERENT),
        (UNBOUND, "ValueError", "import lib\ndef f():\n    lib.fill(step)\nf()\n", DIFFERENT),
        (MISSING, "TypeError", "import lib\nprint(1)\nlib.fill(_handle)\n", DIFFERENT),
        (internal("IndexError", "list index out of range"), "ValueError", SCRIPT, DIFFERENT),
        (internal("KeyError", "'a'"), "ValueError", SCRIPT, DIFFERENT),
        (internal("AttributeError", "'NoneType' has no attribute 'n'"), "ValueError", SCRIPT, DIFFERENT),
    ],
)
def test_an_internal_error_that_became_a_refusal(
    check: Check, kind: str, text: str, verdict: Verdict
) -> None:
    lines = (4, 3) if "def f" in text else (3,)
    assert judged(*[raised(kind, "step is needed", *lines)] * 3, text=text, check=check).verdict is verdict
