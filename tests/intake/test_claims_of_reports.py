"""Claims of small reports: from words, outputs and comments, with their expected values."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Check, Role

CODE = "```python\nimport torch\nprint(torch.ones(3).sum())\n```\n"


def said(text: str, title: str = "") -> list[tuple[str, str, str]]:
    """(role, kind, value) of each check."""
    return [
        (check.role.value, check.kind.value, _value(check))
        for check in read(text, form="report", title=title).claim.checks
    ]


def _value(check: Check) -> str:
    status = "" if check.exit_status is None else str(check.exit_status)
    return check.number or "|".join(check.lines) or check.exception_type or status


@pytest.mark.parametrize(
    ("after", "wanted"),
    [
        ("I expect `tensor(3.)`. No crash, no warning.", "tensor(3.)"),
        ("Should be `tensor(3.)`.", "tensor(3.)"),
        ("It must be `tensor(3.)` for floats.", "tensor(3.)"),
        ("Expected `tensor(3.)`.", "tensor(3.)"),
        ("The correct result is tensor(3.).", "tensor(3.)"),
        ("We would have expected `tensor(3.)`, as numpy has it.", "tensor(3.)"),
    ],
)
def test_what_should_be_stands_in_a_sentence_of_its_own(after: str, wanted: str) -> None:
    assert said(f"{CODE}\nOutput:\n\n```\ntensor(4.)\n```\n\n{after}\n") == [
        ("bug", "output", "tensor(4.)"),
        ("expected", "output", wanted),
    ]


@pytest.mark.parametrize(
    "after",
    ["The input should not be `tensor(3.)`.", "I expected to use 3 threads.", "The size must be 3 here."],
)
def test_what_is_said_of_something_else_is_not_wanted(after: str) -> None:
    assert said(f"{CODE}\nOutput:\n\n```\ntensor(4.)\n```\n\n{after}\n") == [("bug", "output", "tensor(4.)")]


def test_one_of_several_lines_should_be_another() -> None:
    shown = "```\n>>> round(0.5)\n1\n>>> round(1.5)\n2\n```\n"
    assert said(f"{shown}The first one should be 0.\n") == [
        ("bug", "output", "1|2"),
        ("expected", "output", "0|2"),
    ]
    assert said(f"{shown}The last must be `3`.\n") == [
        ("bug", "output", "1|2"),
        ("expected", "output", "1|3"),
    ]
    assert said(f"{shown}The third must be `3`.\n") == [("bug", "output", "1|2")]


def test_another_error_is_wanted_than_the_one_that_is_shown() -> None:
    shown = (
        "```pycon\n>>> [].pop()\nTraceback (most recent call last):\n"
        "  File \"<stdin>\", line 1, in <module>\nKeyError: 'pop from empty'\n```\n"
    )
    assert said(f"{shown}A KeyError is odd here. I would expect an IndexError.\n") == [
        ("bug", "exception", "KeyError"),
        ("expected", "exception", "IndexError"),
    ]
    assert said(f"{shown}I expected that it raises no KeyError.\n") == [("bug", "exception", "KeyError")]


def test_a_message_between_backticks_on_its_own_line() -> None:
    assert said(f"`f(0)` should give -inf, but:\n\n{CODE}`ValueError: empty input. Give one.`\n") == [
        ("bug", "exception", "ValueError")
    ]
    (check,) = read(f"{CODE}`ValueError: empty input. Give one.`\n", form="report", title="").claim.checks
    assert check.message == "empty input. Give one."


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("It prints `tensor(4.)` rather than `tensor(3.)`.", "tensor(3.)"),
        ("I get `tensor(4.)` where I'd assume `tensor(3.)`.", "tensor(3.)"),
        (
            "It prints `tensor(4.)`. The sum of three ones has to be `tensor(3.)` (numpy agrees).",
            "tensor(3.)",
        ),
        ("I get `tensor(4.)`, exact is `tensor(3.)`.", "tensor(3.)"),
        ("It gives `tensor(4.)` while numpy says `tensor(3.)`", "tensor(3.)"),
    ],
)
def test_what_should_be_stands_right_behind_what_is(sentence: str, wanted: str) -> None:
    assert said(f"{sentence}\n\n{CODE}") == [("bug", "output", "tensor(4.)"), ("expected", "output", wanted)]


def test_outputs_in_comments_below_the_code() -> None:
    code = (
        "```python\nx = 0.1 * 3\nprint(x)\nprint(x == 0.3)\n\n# Output:\n"
        "# 0.30000000000000004\n# False\n```\n\n"
    )
    text = f"{code}Python 3.12. Expected: `0.3` and `True`\n"
    assert said(text) == [("bug", "output", "0.30000000000000004|False"), ("expected", "output", "0.3|True")]


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [
        ("**Actual output**", "**Expected output**"),
        ("What I get:", "What I expected:"),
        ("*Observed*", "*Desired*"),
        ("It prints", "It should print"),
    ],
)
def test_captions_that_are_no_headings(seen: str, wanted: str) -> None:
    right = [("bug", "output", "4.5"), ("expected", "output", "3.5")]
    apart = f"{wanted}\n\n    3.5\n\n{seen}\n\n    4.5\n\n**Code**\n\n    x = 3.5\n    print(x + x - x + 1)\n"
    assert said(apart) == right
    assert said(f"```python\nprint(2 * 2.25)\n```\n\n{seen}\n4.5\n\n{wanted}\n3.5\n") == right


def test_a_folded_block_with_a_summary() -> None:
    shown = "<details><summary>What I see</summary>\n2.25\n2.5\n</details>\n"
    assert said(f"Both lines should say 2.25.\n\n{CODE}\n{shown}") == [
        ("bug", "output", "2.25|2.5"),
        ("expected", "output", "2.25|2.25"),
    ]


def test_prose_below_a_caption_is_none() -> None:
    assert said(f"{CODE}\nOutput:\nIt is the wrong number for all 3 inputs\n") == []


@pytest.mark.parametrize(
    ("title", "after", "right"),
    [
        (
            "exit code is 3",
            "It should be 4 as for grep.",
            [("bug", "exit_status", "3"), ("expected", "exit_status", "4")],
        ),
        ("wrong exit status", "", [("bug", "exit_status", "3")]),
        ("wrong number", "", [("bug", "output", "17")]),
    ],
)
def test_a_shell_that_is_asked_for_the_exit_status(
    title: str, after: str, right: list[tuple[str, str, str]]
) -> None:
    session = (
        "```console\n$ cat a.py\nimport sys\nprint(17)\nsys.exit(3)\n$ python a.py\n17\n$ echo $?\n3\n```\n"
    )
    found = said(f"{session}\n{after}\n", title)
    assert [check for check in found if check[0] != "detail"] == right


def test_an_exit_status_that_tells_of_a_signal() -> None:
    session = "```console\n$ cat a.py\nimport os\nos.abort()\n$ python a.py; echo $?\n134\n```\n"
    assert said(session) == [("bug", "crash", "")]


@pytest.mark.parametrize(
    "version",
    [
        "'2.1.0+cu121'",
        "torch 2.4.1",
        "3.11.4 (main, Jul  5 2023, 13:45:01) [GCC 11.2.0]",
        "numpy version: 2.1.0",
    ],
)
def test_a_version_beside_an_output_is_not_claimed(version: str) -> None:
    assert said(f"{CODE}\nOutput:\n\n```\n{version}\ntensor(4.)\n```\n\nExpected `tensor(3.)`.\n") == [
        ("bug", "output", "tensor(4.)"),
        ("expected", "output", "tensor(3.)"),
    ]


@pytest.mark.parametrize("value", ["1.5", "torch 1.5", "loss 1.2e-3", "10.0.0.1"])
def test_a_number_is_no_version(value: str) -> None:
    assert said(f"{CODE}\nOutput:\n\n```\n{value}\ntensor(4.)\n```\n") == [
        ("bug", "output", f"{value}|tensor(4.)")
    ]


def test_a_tensor_on_a_card_is_not_what_a_script_without_one_prints() -> None:
    cpu = (
        "CPU:\n\n```python\nimport torch\nprint(torch.zeros(2))\n```\n\n"
        "gives `tensor([0., 0.])`, as it should.\n"
    )
    gpu = (
        "GPU:\n\n```python\nimport torch\nprint(torch.zeros(2, device='cuda'))\n```\n\n"
        "gives `tensor([0., 1.], device='cuda:0')`\n"
    )
    bug, wanted = read(f"{cpu}\n{gpu}", form="report", title="").claim.checks
    assert (bug.where.device, wanted.where.device) == ("cuda", None)
    with_fallback = (
        "```python\nimport torch\nd = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "print(torch.zeros(2, device=d))\n```\n"
    )
    (check,) = read(
        f"{with_fallback}\nprints `tensor([0., 1.], device='cuda:0')`\n", form="report", title=""
    ).claim.checks
    assert check.where.device is None


@pytest.mark.parametrize(
    "title",
    [
        "Expected all tensors to be on the same device",
        "expected scalar type Half but found Float",
        "sum gives 3, expected 4",
    ],
)
def test_a_title_with_the_word_expected_is_no_section_of_what_is_expected(title: str) -> None:
    shown = (
        '```\nTraceback (most recent call last):\n  File "a.py", line 2, in <module>\n'
        "RuntimeError: it broke\n```\n"
    )
    assert said(f"# {title}\n\n{shown}\n{CODE}") == [("bug", "exception", "RuntimeError")]


@pytest.mark.parametrize(
    "heading",
    [
        "Expected behavior",
        "What did you expect to happen?",
        "What should happen",
        "2. Desired output",
        "**Expectation**",
    ],
)
def test_sections_of_what_is_expected(heading: str) -> None:
    text = f"### What happened\n\n{CODE}\nIt prints `tensor(4.)`.\n\n### {heading}\n\n```\ntensor(3.)\n```\n"
    assert ("bug", "output", "tensor(3.)") not in said(text)


def test_a_claim_without_a_script_is_read_all_the_same() -> None:
    reading = read("It prints 5 on my box, expected 4.\n", form="report", title="wrong sum")
    assert [check.number for check in reading.claim.checks] == ["5", "4"]
    assert [ask.code for ask in reading.ask] == ["no_script"]


def test_code_that_a_mail_program_quotes() -> None:
    mail = (
        "On Mon, May 6, 2024 at 8:01 AM K. wrote:\n> Which script?\n\nThis one:\n\n"
        "> import math\n> x = math.sqrt(16)\n> print(int(x))\n\n"
    )
    reading = read(f"{mail}It prints 3, not 4, on my box.\n", form="report", title="sqrt is off by one")
    assert [script.as_given for script in reading.scripts] == [
        "import math\nx = math.sqrt(16)\nprint(int(x))"
    ]
    assert [check.number for check in reading.claim.checks] == ["3", "4"]


@pytest.mark.parametrize(
    "text",
    [
        "It gives `515` on 1.16 and `514` on 1.17. The stream is frozen, so I expect `515`.",
        "We get `515` with 1.16 and `514` with 1.17. It should be `515`.",
        "It prints `515`, and I expect `515` everywhere.",
    ],
)
def test_a_value_that_is_called_right_is_no_bug(text: str) -> None:
    assert ("bug", "output", "515") not in said(CODE + text)
    assert ("bug", "value", "515") not in said(CODE + text)


def test_a_name_of_the_script_is_no_expected_output() -> None:
    code = "```python\nimport torch\nreading = torch.ones(3)\nprint(reading + 1)\n```\n"
    text = code + "```\nTypeError: bad\n```\n`reading` is what should be printed."
    assert [role for role, _, _ in said(text)] == ["bug"]


def test_a_block_that_the_script_ends_with_is_no_expectation() -> None:
    ends = "### Expected behavior\n\nThis script fails with\n\n```\nTypeError: no scale\n```\n\nno help.\n"
    assert said(f"{CODE}\n{ends}")[:1] == [("bug", "exception", "TypeError")]
    raises = "### Expected behavior\n\nIt should raise\n\n```\nTypeError: no scale\n```\n"
    assert ("bug", "exception", "TypeError") not in said(f"{CODE}\n{raises}")


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ('The message says "got a list of lists"', "got a list of lists"),
        ("the error message is: `got a list of lists.`", "got a list of lists"),
        ('The message should say "got a list of lists"', None),
        ('The manual says "got a list of lists"', None),
    ],
)
def test_a_message_that_a_comment_quotes(comment: str, message: str | None) -> None:
    code = f"```python\nimport torch\ntorch.stack([[1]])  # {comment}\n```\n"
    checks = read(code, form="report", title="bad words").claim.having(Role.BUG)
    assert [check.message for check in checks] == ([message] if message else [])


@pytest.mark.parametrize(
    ("mark", "is_read"), [("# Wrong, 4 is missing.", True), ("# Good.", False), ("x = 3", False)]
)
def test_an_output_whose_next_comment_calls_it_wrong(mark: str, *, is_read: bool) -> None:
    code = f"```python\nimport torch\nx = torch.ones(2)\nprint('x', x)\n# ... x [1. 2. 3.]\n{mark}\n```\n"
    assert (("bug", "output", "x [1. 2. 3.]") in said(code)) is is_read
