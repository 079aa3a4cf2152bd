"""Tracebacks behind the signs of comments, in strings, and beside the statement that raises."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import CheckKind, Role
from app.intake.reading import Reading

CODE = "import torch\n\nt = torch.ones(3)\nprint(t.foo(3))"
FRAME = '  File "ci/a.py", line 9, in <module>\n    print(t.foo(3))'
TRACEBACK = f"Traceback (most recent call last):\n{FRAME}\nRuntimeError: no kernel for Half"


def report(*blocks: str) -> Reading:
    return read("\n\n".join(["# foo fails", *blocks, "I want a matrix of sixes."]) + "\n", form="report")


def fence(text: str, tag: str = "python") -> str:
    return f"```{tag}\n{text}\n```"


def signed(sign: str) -> str:
    return "\n".join(f"{sign}{line}" for line in TRACEBACK.split("\n"))


def is_read(reading: Reading) -> bool:
    bug = reading.claim.having(Role.BUG)[0]
    told = (bug.kind, bug.exception_type, bug.message, bug.at)
    return told == (CheckKind.EXCEPTION, "RuntimeError", "no kernel for Half", 4) and not reading.ask


@pytest.mark.parametrize("sign", ["### ", "##", "#| ", "#:  ", "# > ", "; ", "%% ", '" ', "E   ", "stderr: "])
def test_a_traceback_has_a_sign_before_each_line(sign: str) -> None:
    assert is_read(report(fence(CODE), "our pipeline says", fence(signed(sign))))
    assert is_read(report(fence(CODE), "our pipeline says", fence(signed(sign), "")))
    assert is_read(report(fence(f"{CODE}\n{signed(sign)}")))


@pytest.mark.parametrize(
    "below", [f'"""\n{TRACEBACK}\n"""', f"'''{TRACEBACK}'''", f"# I see\n#\n{signed('#     ')}"]
)
def test_a_traceback_stands_below_the_code(below: str) -> None:
    assert is_read(report(fence(f"{CODE}\n{below}")))


def test_an_error_beside_a_print_is_raised_there() -> None:
    beside = f"{CODE}  # RuntimeError: no kernel for Half"
    assert is_read(report(fence(beside)))
    # Here the script prints it.
    caught = "def f():\n    try:\n        g()\n    except Exception as e:\n        return str(e)"
    script = f"from lib import g\n{caught}\nprint(f())  # RuntimeError: no kernel for Half"
    bug = report(fence(script)).claim.having(Role.BUG)[0]
    assert bug.kind is CheckKind.OUTPUT


@pytest.mark.parametrize(
    "words",
    ["With torch 1.9 it was", "On my laptop with a card I got this instead:", "What I expect is"],
)
def test_signs_change_no_stance(words: str) -> None:
    code = fence(f"{CODE}  # 5.0, wrong, I want 6.0")
    plain, behind_signs = (report(code, words, fence(text)) for text in (TRACEBACK, signed("## ")))
    assert plain.claim == behind_signs.claim
