"""Reports as people write them: their code with roles and repairs, and their claims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from default_limits import read

from app.intake.claim.claims import CheckKind, Claim, Role
from app.intake.reading import Reading, ScriptRole

SHARED = Path(__file__).parents[3] / "shared" / "reports"
SCRIPT = "import torch\nprint(torch.ones(2).sum())"


def report(text: str, title: str = "") -> Reading:
    return read(text, form="report", title=title)


def only_script(text: str) -> str:
    scripts = report(text).scripts
    assert len(scripts) == 1
    return scripts[0].as_given.strip()


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{SCRIPT}\n```",
        f"```python\n{SCRIPT}\n```",
        f"``` python #\n{SCRIPT}\n```",
        f"~~~py\n{SCRIPT}\n~~~",
        f"````python\n{SCRIPT}\n````",
        f"```python\n{SCRIPT}\n`````",
        f"```python\n{SCRIPT}",
        "Run this:\n\n    import torch\n    print(torch.ones(2).sum())\n\nIt is wrong.",
        f"```python\r\n{SCRIPT}\r\n```\r\n".replace("\n", "\r\n").replace("\r\r", "\r"),
        f"<details>\n<summary>code</summary>\n\n```python\n{SCRIPT}\n```\n\n</details>",
        f"<details><summary>code</summary>\n```python\n{SCRIPT}\n```\n</details>",
        f"<!--\n```python\nprint('from the template')\n```\n-->\n```python\n{SCRIPT}\n```",
        f"1. Run\n   ```python\n{SCRIPT}\n   ```".replace("import", "   import").replace("print", "   print"),
        f"```\n{SCRIPT}\ntensor(2.)\n```",
        f"```python\n{SCRIPT}\n```\n```\ntensor(2.)\n```",
        f"```sh\npip install torch\n```\n```python\n{SCRIPT}\n```",
        f'```json\n{{"a": 1}}\n```\n```python\n{SCRIPT}\n```',
        f"```python\nimport torch\nprint(torch.__version__)\n```\n```python\n{SCRIPT}\n```",
        f"```text\nx = 1\n```\n```python\n{SCRIPT}\n```",
        f"### Describe the bug\n\n{SCRIPT}\n\n### Versions\n\ntorch 2.3",
        f"```python\n{SCRIPT}\n```\n```python\n{SCRIPT}\n```",
    ],
)
def test_the_one_script(text: str) -> None:
    assert only_script(text).replace("\r", "").splitlines() == SCRIPT.splitlines()


def test_a_comment_inside_code_is_code() -> None:
    code = "print('<!-- not a comment')\nprint('-->')"
    assert only_script(f"```python\n{code}\n```") == code


def test_a_comment_mark_in_inline_code_hides_nothing() -> None:
    assert only_script(f"It prints `<!--` only.\n\n```python\n{SCRIPT}\n```") == SCRIPT


def test_a_transcript_prints_what_the_prompt_showed() -> None:
    reading = report(
        ">>> is a prompt\n\n```\n>>> import torch\n>>> t = torch.ones(2)\n>>> t.sum()\ntensor(2.)\n```"
    )
    script = reading.scripts[0]
    assert script.as_given == "import torch\nt = torch.ones(2)\nt.sum()"
    assert script.script == 'import torch\nt = torch.ones(2)\n__import__("sys").displayhook(t.sum())\n'
    assert [repair.code for repair in script.repairs] == ["shown_value"]
    assert reading.claim.checks[0].lines == ("tensor(2.)",)


def test_a_transcript_that_is_no_python_is_asked_about() -> None:
    assert [ask.code for ask in report("```\n>>> exec 'a'\na\n```").ask] == ["no_python"]


def test_lines_for_a_notebook_are_commented_out_in_a_report() -> None:
    script = report("```python\n!pip install torch\nimport torch\nprint(torch.ones(1))\n```").scripts[0]
    assert script.script.splitlines()[0] == "# !pip install torch"
    assert [repair.code for repair in script.repairs] == ["shell_line"]


def test_a_transcript_of_ipython() -> None:
    typed = (
        "In [1]: import torch\n\nIn [2]: for i in range(2):\n   ...:     print(i)\n   ...:\n"
        "0\n1\n\nIn [3]: torch.ones(1)\n"
    )
    text = f"```\n{typed}Out[3]: tensor([1.])\n```"
    reading = report(text)
    assert reading.scripts[0].script.splitlines()[:3] == [
        "import torch",
        "for i in range(2):",
        "    print(i)",
    ]
    assert reading.claim.checks[0].lines == ("0", "1", "tensor([1.])")


def test_continuation_lines_of_a_transcript() -> None:
    reading = report("```\n>>> def f():\n...     return 1\n...\n>>> f()\n1\n... and more\n```")
    assert reading.scripts[0].as_given == "def f():\n    return 1\n\nf()"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("It is broken.", "no_script"),
        ("![screenshot](https://example.invalid/a.png)", "no_script"),
        ("```\nTraceback (most recent call last):\nValueError: x\n```", "no_script"),
        ("```\ntensor(1.)\n```", "no_script"),
        ("```sh\npython train.py\n```", "no_script"),
        ("```cpp\nint main() { return 0; }\n```", "no_python"),
        ("```python\n#include <torch/torch.h>\nint main() {}\n```", "no_python"),
        ("```python\nimport torch\nexec 'a'\n```", "no_python"),
        ("```python\nimport torch\nnet = build(config)\nnet(batch)\n```", "undefined_name"),
        ("```python\nimport torch\nw = torch.load('a.pt')\n```", "file"),
        (
            (
                "python a.py --rank 0\n\n```python\nimport argparse\np = argparse.ArgumentParser()\n"
                "p.add_argument('--rank')\n```"
            ),
            "arguments",
        ),
    ],
)
def test_what_is_asked(text: str, code: str) -> None:
    asks = report(text).ask
    assert [ask.code for ask in asks] == [code]
    assert asks[0].text


def test_a_missing_name_is_not_asked_for_where_it_is_the_bug() -> None:
    reading = report("```python\nprint(torch.ones(2), other)\n```\n\nNameError: name 'torch' is not defined")
    assert (reading.ask, reading.scripts[0].repairs) == ((), ())


def test_names_inside_functions_and_tries_are_not_asked_for() -> None:
    assert (
        report(
            "```python\ndef f():\n    return later\ntry:\n    x = other\nexcept NameError:\n"
            "    x = 1\nprint(x)\n```"
        ).ask
        == ()
    )


def test_a_block_shown_to_work_is_a_control() -> None:
    text = (
        f"This fails:\n```python\n{SCRIPT}\n```\nWith a clone it works:\n```python\n"
        "import torch\nprint(torch.ones(2).clone().sum())\n```"
    )
    assert [script.role for script in report(text).scripts] == [ScriptRole.MAIN, ScriptRole.CONTROL]


def test_a_control_may_come_first() -> None:
    text = f"This works fine:\n```python\nprint(1)\n```\nThis does not work:\n```python\n{SCRIPT}\n```"
    reading = report(text)
    assert [script.role for script in reading.scripts] == [ScriptRole.MAIN, ScriptRole.CONTROL]
    assert reading.scripts[0].as_given.strip() == SCRIPT


def test_scripts_for_each_device_are_alternatives() -> None:
    text = (
        f"On the CPU:\n```python\n{SCRIPT}\n```\nOn the GPU:\n```python\n"
        f"{SCRIPT.replace('(2)', '(2).cuda()')}\n```"
    )
    assert [script.role for script in report(text).scripts] == [ScriptRole.MAIN, ScriptRole.ALTERNATIVE]


def test_parts_are_joined_where_one_goes_on_from_the_other() -> None:
    reading = report(
        "The model:\n```python\nimport torch\nnet = torch.nn.Linear(1, 1)\n```\nand then\n"
        "```python\nprint(net(torch.ones(1)))\n```"
    )
    script = reading.scripts[0]
    assert len(reading.scripts) == 1
    assert script.script == "import torch\nnet = torch.nn.Linear(1, 1)\n\nprint(net(torch.ones(1)))\n"
    assert [repair.code for repair in script.repairs] == ["joined_parts"]
    assert reading.ask == ()


def test_parts_are_not_joined_where_the_first_is_said_to_fail() -> None:
    text = (
        "```python\nimport torch\nx = torch.ones(1)\nx.nothing()\n```\n"
        "AttributeError: no such thing\n\nAlso\n```python\nprint(x)\n```"
    )
    reading = report(text)
    assert [script.role for script in reading.scripts] == [ScriptRole.MAIN, ScriptRole.PART]
    assert reading.scripts[0].repairs == ()


def test_the_main_script_is_the_one_that_stands_alone() -> None:
    reading = report(f"In short:\n```python\nloss = net(batch)\n```\nIn full:\n```python\n{SCRIPT}\n```")
    assert reading.scripts[0].as_given.strip() == SCRIPT
    assert reading.ask == ()


def bug(claim: Claim) -> tuple[CheckKind, tuple[str, ...] | str | None]:
    check = claim.having(Role.BUG)[0]
    shown = (
        check.side_lines
        if check.kind is CheckKind.DIFFERS
        else check.lines or check.exception_type or check.number
    )
    return check.kind, shown


FENCED = f"```python\n{SCRIPT}\n```\n"


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        (FENCED + "Claim: hangs", CheckKind.HANG, None),
        (FENCED + "**Claim**: exit code 3", CheckKind.EXIT_STATUS, None),
        (f"```python\n# Claim: hangs\n{SCRIPT}\n```", CheckKind.HANG, None),
        (
            FENCED + ("```\nTraceback (most recent call last):\n  x\nValueError: bad\n```"),
            CheckKind.EXCEPTION,
            "ValueError",
        ),
        (
            FENCED + ("### Error logs\n\nTraceback (most recent call last):\n  x\nValueError: bad"),
            CheckKind.EXCEPTION,
            "ValueError",
        ),
        (FENCED + "```pytb\nAssertionError: \nNot equal\n```", CheckKind.EXCEPTION, "AssertionError"),
        (FENCED + "stops in `f`:\nRuntimeError: not enough memory", CheckKind.EXCEPTION, "RuntimeError"),
        (FENCED + "```\nSegmentation fault (core dumped)\n```", CheckKind.CRASH, None),
        (FENCED + "Output:\n```\ntensor(3.)\n```", CheckKind.OUTPUT, ("tensor(3.)",)),
        (FENCED + "It gives: tensor(3.)", CheckKind.OUTPUT, ("tensor(3.)",)),
        (FENCED + "It prints `conv 0.5`, wrong", CheckKind.OUTPUT, ("conv 0.5",)),
        (FENCED + "```\nCPU: 1.0\nGPU: 2.0\n```", CheckKind.DIFFERS, ("CPU: 1.0", "GPU: 2.0")),
        (
            FENCED + "### Versions\n\nCPU out: 1.0\nGPU out: 2.0\n\ncc @someone",
            CheckKind.DIFFERS,
            ("CPU out: 1.0", "GPU out: 2.0"),
        ),
        (
            FENCED + "On CPU:\n```\n[1]\n```\nOn Cuda:\n```\n[2]\n```",
            CheckKind.DIFFERS,
            ("cpu [1]", "cuda [2]"),
        ),
        (FENCED + "CPU and GPU results differ.", CheckKind.DIFFERS, ()),
        (FENCED + "It never ends.", CheckKind.HANG, None),
        ("```python\nprint(1) # tensor(1.) WRONG\n```", CheckKind.OUTPUT, ("tensor(1.)",)),
        (
            FENCED + "Expected:\n```\ntensor(2.)\n```\nActual:\n```\ntensor(3.)\n```",
            CheckKind.OUTPUT,
            ("tensor(3.)",),
        ),
        (
            FENCED + "Expected:\n```\n1.5\n```\nActual:\n```\nnp.float64(2.5)\n```",
            CheckKind.OUTPUT,
            ("np.float64(2.5)",),
        ),
        (FENCED + "Output:\n```\nnp.True_\n```", CheckKind.OUTPUT, ("np.True_",)),
        (FENCED + "Output:\n```\ntorch.Size([2, 3])\n```", CheckKind.OUTPUT, ("torch.Size([2, 3])",)),
        (FENCED + "Actual: np.float64(2.5)\nExpected: 1.5", CheckKind.OUTPUT, ("np.float64(2.5)",)),
        (FENCED + "It prints np.True_, expected np.False_", CheckKind.OUTPUT, ("np.True_",)),
        (
            FENCED + ("The documentation promises:\n```\n-inf\n```\nand it gives\n```\nnan\n```"),
            CheckKind.OUTPUT,
            ("nan",),
        ),
        (FENCED + "```sh\n$ python a.py\nvalue 3\n```", CheckKind.OUTPUT, ("value 3",)),
    ],
)
def test_what_a_report_claims(text: str, kind: CheckKind, shown: tuple[str, ...] | str | None) -> None:
    found, said = bug(report(text).claim)
    assert found is kind
    assert said == shown


@pytest.mark.parametrize(
    "text",
    [
        FENCED,
        FENCED + "Please have a look, I use torch 2.3 with 2 GPUs.",
        FENCED
        + (
            "### Versions\n\nPyTorch version: 2.3.0\nCUDA used to build PyTorch: 12.1\n"
            "GPU 0: NVIDIA A100\nCPU:\nModel name: EPYC"
        ),
        FENCED + "```\nCollecting environment information...\nPyTorch version: 2.3.0\n```",
        FENCED + "```\ncommit 59c1b5025f64\nDate: Mon Feb 6 10:45:04 2023\n```",
        FENCED + "```sh\nconda create --name six python=3.7\nconda activate six\n```",
        FENCED + "The expected result:\n```\ntensor(2.)\n```",
        FENCED + "<!-- It hangs. -->",
    ],
)
def test_what_claims_nothing(text: str) -> None:
    assert report(text).claim.having(Role.BUG) == ()


def test_the_expected_value_is_kept_apart() -> None:
    checks = report(
        FENCED + "First one prints `conv 0.0`, as it should.\n\nSecond prints `conv 0.5`, wrong."
    ).claim.checks
    assert [(check.role, check.lines) for check in checks] == [
        (Role.BUG, ("conv 0.5",)),
        (Role.EXPECTED, ("conv 0.0",)),
    ]


def test_the_title_claims_where_the_text_does_not() -> None:
    assert report(FENCED, title="Deadlock in the loader").claim.checks[0].kind is CheckKind.HANG


def test_a_claim_given_apart_wins() -> None:
    assert (
        read(FENCED + "It never ends.", form="report", claim="exit code 3").claim.checks[0].kind
        is CheckKind.EXIT_STATUS
    )


def test_the_title_is_the_first_heading_if_none_is_given() -> None:
    assert report(f"# A bug\n\n{FENCED}").title == "A bug"
    assert report(f"# A bug\n\n{FENCED}", title="Mine").title == "Mine"


RIGHT = {
    "001": ["main"], "005": ["main"], "010": ["main", "alternative"], "012": ["main"], "015": ["main"],
    "023": ["main"], "026": ["main"], "028": ["main"], "030": ["main"], "039": ["main"], "041": ["main"],
    "044": ["main", "control"], "046": ["main"], "058": ["main"], "064": ["main"],
}  # fmt: skip


@pytest.mark.skipif(not SHARED.is_dir(), reason="the collected reports are not beside this checkout")
@pytest.mark.parametrize("name", RIGHT)
def test_collected_reports_are_read_as_is_right(name: str) -> None:
    collected: dict[str, Any] = json.loads((SHARED / f"{name}.json").read_text())
    reading = report(collected["body"], collected["title"])
    given = [script.as_given.replace("\r", "").strip() for script in reading.scripts]
    assert given == [script["code"].strip() for script in collected["right"]["scripts"]]
    assert [script.role for script in reading.scripts] == RIGHT[name]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the collected reports are not beside this checkout")
def test_a_collected_report_in_another_language_is_asked_about() -> None:
    collected = json.loads((SHARED / "055.json").read_text())
    assert [ask.code for ask in report(collected["body"], collected["title"]).ask] == ["no_python"]
