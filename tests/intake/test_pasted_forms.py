"""Forms in which people paste reports: open fences, comments below the report, quoted lines, no imports."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Role
from app.intake.reading import Reading, ScriptRole
from app.intake.text.fenced_prose import is_fenced_prose
from app.intake.text.markdown import blocks_of

SCRIPT = "import numpy as np\nfor n in range(3):\n    print(np.sum(n))\n"


def _report(text: str) -> Reading:
    return read(text, form="report")


def _bugs(text: str) -> list[str]:
    return [line for check in _report(text).claim.having(Role.BUG) for line in check.lines]


@pytest.mark.parametrize(
    "end",
    [
        "#### Problem description\n\nThe last one is wrong.\n",
        "## Versionen\n\nnumpy 1.26, Windows 10\n",
        "### 环境\n\nnumpy 1.26 和 python 3.12\n",
        "**Expected behaviour**\n\nIt should not do that.\n",
        "<details>\n\nINSTALLED VERSIONS\n------\npython: 3.6.1\n\n</details>\n",
        "# Environment\n\nnumpy is 1.26 here.\n",
    ],
)
def test_a_fence_left_open_ends_at_the_next_heading(end: str) -> None:
    (script,) = _report(f"# Title\n\n```python\n{SCRIPT}{end}").scripts
    assert script.script == SCRIPT


@pytest.mark.parametrize(
    "code",
    [
        "## first step\nimport os\n## second step\nprint(os.sep)\n",
        "import os\nif os.sep:\n    a = 1\n### the end\n    print(a)\n",
        "import os\n#### NO LOCK\ndef f():\n    return 1\n#### Call\nprint(f())\n",
        "# Setup\nimport os\n# Bug here\nprint(os.sep)\n",
        "import os\n# Schritt 1: Daten\nx = [1]\n# Schritt 2: Fehler\nprint(x)\n",
    ],
)
@pytest.mark.parametrize("fence", ["```python\n{}", "```python\n{}```\n"])
def test_comments_of_a_script_are_no_headings(code: str, fence: str) -> None:
    (script,) = _report("It is wrong.\n\n" + fence.format(code)).scripts
    assert script.script == code


def test_an_open_fence_with_its_output_ends_at_the_next_heading() -> None:
    text = f"```python\n{SCRIPT}###output\n  0\n1\n5\n#### Problem\n\nThe last one should be 3.\n"
    assert _bugs(text) == ["0", "1", "5"]


@pytest.mark.parametrize(
    "line",
    [
        "**amj** commented:",
        "amj commented on Jan 3, 2024:",
        "jmg wrote:",
        "@jmg replied:",
        "Comment by jmg:",
        "Kommentar von jmg:",
        "jmg schrieb:",
        "### Antwort von jmg",
        "Commentaire de jmg :",
        "Respuesta de jmg:",
        "jmg 回复:",
        "用户 jmg 的评论：",
        "jmg さんのコメント:",
    ],
)
def test_a_comment_below_the_report_is_another_persons(line: str) -> None:
    text = f"It prints `3`.\n\n```python\n{SCRIPT}```\n\n{line}\n\nYes.\n\n```python\nprint(7)  # 7\n```\n"
    reading = _report(text)
    assert [each.role for each in reading.scripts] == [ScriptRole.MAIN]
    assert _bugs(text) == ["3"]


@pytest.mark.parametrize(
    "line",
    ["I wrote:", "The docs say:", "This is what I commented:", "Comment from me", "ich schrieb:", "我的评论"],
)
def test_words_of_the_reporter_are_no_comment_of_others(line: str) -> None:
    text = f"```python\n{SCRIPT}```\n\n{line}\n\n```python\nprint(7)\n```\n"
    assert len(_report(text).scripts) == 2


def test_a_comment_with_the_only_script_stays() -> None:
    assert _report(f"It is wrong.\n\njmg wrote:\n\n```python\n{SCRIPT}```\n").scripts


@pytest.mark.parametrize(
    "part",
    [
        " t3.start()  # begins\n t4.start()  # begins too\n",
        "t3.start()\nt4.start()\n",
        "    t3.start() # 开始\n    t4.start()\n",
        "t4.start()\n",
        "t3   .start()\n",
    ],
)
def test_quoted_lines_of_the_script_are_not_joined(part: str) -> None:
    code = (
        "import threading\n\nif __name__ == '__main__':\n    t3 = threading.Thread(target=print)\n"
        "    t4 = threading.Thread(target=print)\n    t3.start()\n    t4.start()\n"
    )
    reading = _report(f"```\n{code}```\n\nI think:\n\n```\n{part}```\n")
    assert not reading.ask
    assert reading.scripts[0].script == code


def test_a_part_with_an_indent_is_joined() -> None:
    reading = _report(
        "```\nimport os\nif os.sep:\n    a = os.sep\n```\n\nThen\n\n```\n  b = a\n  print(b)\n```\n"
    )
    assert reading.scripts[0].script.endswith("\nb = a\nprint(b)\n")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("df = pd.DataFrame([1])\nprint(df)\n", "import pandas as pd"),
        ("a = np.ones(3)\nprint(json.dumps(a.tolist()))\n", "import json"),
        ("x = sympy.Symbol('x')\nprint(x)\n", "import sympy"),
        ("g = nx.path_graph(3)\nprint(g)\n", "import networkx as nx"),
        ("print(scipy.stats.norm.cdf(0))\n", "import scipy"),
        ("s = pd.Series([1])\nfor a in itertools.chain(s):\n    print(a)\n", "import itertools"),
    ],
)
def test_a_usual_import_is_added(code: str, line: str) -> None:
    reading = _report(f"It is wrong.\n\n```python\n{code}```\n")
    assert not reading.ask
    assert f"Added: {line}" in [repair.detail for repair in reading.scripts[0].repairs]


def test_no_import_is_added_for_a_claimed_name_error() -> None:
    reading = _report("```python\nprint(pd.DataFrame([1]))\n```\n\nNameError: name 'pd' is not defined\n")
    assert reading.scripts[0].repairs == ()


@pytest.mark.parametrize(
    "comment",
    [
        "True -- should be False",
        "True - should be False",
        "True, but should be False",
        "True (should be False)",
        "True; expected False",
    ],
)
def test_the_right_value_in_a_comment_is_no_output(comment: str) -> None:
    reading = _report(f"```python\na = [1]\nprint(a == [1])  # {comment}\nprint(a == [2])  # False\n```\n")
    roles = {check.role: check.lines for check in reading.claim.checks}
    assert roles == {Role.BUG: ("True", "False"), Role.EXPECTED: ("False", "False")}


@pytest.mark.parametrize(
    ("prose", "visible"),
    [
        ("It shows `Field(default=<unset>)`.", "It shows `Field(default=<unset>)`."),
        ("It is ``<class 'a`b'>`` <b>here</b>", "It is ``<class 'a`b'>`` here"),
        ("`two\nlines <int>` <br>end", "`two\nlines <int>` end"),
        ("a tick ` and <i>no</i> second", "a tick ` and no second"),
        ("<kbd>`<f>`</kbd>", "`<f>`"),
    ],
)
def test_tags_are_removed_outside_of_code_only(prose: str, visible: str) -> None:
    assert [block.text for block in blocks_of(prose)] == [visible]


def test_an_angle_bracket_of_an_expected_value_stays() -> None:
    reading = _report(
        "```python\nprint(repr(make()))\n```\n\nIt prints `Box(<none>)`, expected `Box(<unset>)`.\n"
    )
    assert {check.role: check.lines for check in reading.claim.checks} == {
        Role.BUG: ("Box(<none>)",),
        Role.EXPECTED: ("Box(<unset>)",),
    }


@pytest.mark.parametrize(
    "words",
    [
        "We see `array([1, 1])` afterwards, we expect `array([1, 2])`, as in all versions before.",
        "`y` is `array([1, 1])` for me. The value should be `array([1, 2])`, as it was before.",
        "I get `array([1, 1])` here, but I expected `array([1, 2])` from such a call.",
        "The result is `array([1, 1])` with the new release, instead of the right `array([1, 2])` for it.",
        "My output is `array([1, 1])`.\nIt must be `array([1, 2])`, as in the version before this one.",
    ],
)
def test_sentences_in_a_fence_are_read_as_sentences(words: str) -> None:
    script = "```python\nimport numpy as np\ny = np.cumsum([1, 1])\nprint(repr(y))\n```\n"
    claim = _report(f"# cumsum\n\n{script}\n### Error message:\n\n```shell\n{words}\n```\n").claim
    assert [(check.role, check.lines) for check in claim.checks] == [
        (Role.BUG, ("array([1, 1])",)),
        (Role.EXPECTED, ("array([1, 2])",)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "UserWarning: The given `a` should be a list, and not the `b` that I got before",
        "$ python t.py\nthe value `a` should be what we expect, `b` came before it",
        "expected `a` but got `b`",
        "x = `a` and y = `b` were there before we expected them to be there at all",
    ],
)
def test_output_in_a_fence_stays_output(text: str) -> None:
    assert not is_fenced_prose(text)


@pytest.mark.parametrize("formula", ["14*0.02+2", "# put code here\n0.1 + 0.2", "2**0.5 * 2**0.5\n1/3"])
def test_a_formula_is_a_script(formula: str) -> None:
    reading = _report(f"# A sum is wrong\n\n```python\n{formula}\n```\n\nI get something else.\n")
    assert not reading.ask
    assert "displayhook" in reading.scripts[0].script


@pytest.mark.parametrize("value", ["1+2j", "tensor(3.)", "[1, 2]", "-3.5"])
def test_a_value_is_no_script(value: str) -> None:
    reading = _report(f"# A sum is wrong\n\n```python\n{value}\n```\n\nI get that.\n")
    assert [each.code for each in reading.ask] == ["no_script"]


@pytest.mark.parametrize(
    "code",
    [
        "import pydantic.version; print(pydantic.version.version_info())",
        "import pandas as pd\npd.show_versions()",
        "import platform\nprint(platform.platform())",
    ],
)
def test_code_that_prints_versions_is_no_script(code: str) -> None:
    report = f"# Title\n\n```python\n{SCRIPT}```\n\n## Versions\n\n```python\n{code}\n```\n"
    assert [script.script for script in _report(report).scripts] == [SCRIPT]


@pytest.mark.parametrize(
    "sentence",
    [
        "The call ends in an `UnboundLocalError`, but it doesn't reckon with all bins being 0.",
        "We get a `ValueError` instead of 0.",
        "It gives `TypeError`, but should give 3.",
    ],
)
def test_the_name_of_an_error_is_no_printed_text(sentence: str) -> None:
    claim = _report(f"# hist\n\n{sentence}\n\n```python\n{SCRIPT}```\n").claim
    readings = (claim, *claim.further)
    assert not [check for each in readings for check in each.checks if "Error" in " ".join(check.lines)]


def test_a_session_may_show_its_outputs_only() -> None:
    session = (
        "np.arange(0.24, 0.34, 0.02)\nOut[43]: array([0.24, 0.26, 0.28, 0.3 , 0.32, 0.34])\n\n"
        "np.arange(3)\nOut[44]: array([0, 1, 2])\n\nnp.__version__\nOut[48]: '1.13.3'\n"
    )
    reading = _report(f"# arange is wrong\n\n```py\n{session}```\n")
    assert not reading.ask
    assert "Out[" not in reading.scripts[0].script
    lines = [line for check in reading.claim.having(Role.BUG) for line in check.lines]
    assert lines == ["array([0.24, 0.26, 0.28, 0.3 , 0.32, 0.34])", "array([0, 1, 2])"]


def test_remarks_in_bold_between_statements_are_comments() -> None:
    failure = "np.ones(3)[7]\n**IndexError: index 7 is out of bounds**\n"
    code = f"import numpy as np\nnp.sum([1])\n**Works!**\n\n{failure}"
    reading = _report(f"# It raises\n\n```\n{code}```\n")
    (script,) = reading.scripts
    assert [repair.code for repair in script.repairs][:1] == ["bold_remarks"]
    (bug,) = reading.claim.having(Role.BUG)
    assert (bug.exception_type, bug.message) == ("IndexError", "index 7 is out of bounds")


@pytest.mark.parametrize("between", ["", "inputs and targets are these\n", "and then\n"])
def test_a_block_of_imports_belongs_to_the_next_one(between: str) -> None:
    first = "```python\nimport torch\nimport torch.nn.functional as F\n```\n"
    second = "```python\nx = torch.ones(3)\ny = F.relu(x)\n```\n"
    reading = _report(f"# nan\n\n{first}{between}{second}\ngives\n\n```\ny\ntensor([nan, 1., 1.])\n```\n")
    (script,) = reading.scripts
    assert script.role is ScriptRole.MAIN
    # The last name that it assigns is shown, as in the report, whose block begins with that name.
    assert script.script.rstrip().endswith("displayhook(y)")
    assert [check.lines for check in reading.claim.having(Role.BUG)] == [("tensor([nan, 1., 1.])",)]


@pytest.mark.parametrize("word", ["but", "However,", "aber", "但是"])
def test_only_a_but_between_two_scripts_makes_the_first_the_good_side(word: str) -> None:
    good = "```python\nimport numpy as np\nprint(np.sum([1, 2]))\n```\ngives\n```\n3\n```\n"
    bad = "```python\nimport numpy as np\nprint(np.sum([2, 2]))\n```\ngives\n```\n7\n```\n"
    reading = _report(f"# A sum is wrong\n\n{good}{word}\n{bad}")
    assert {script.role: "[2, 2]" in script.script for script in reading.scripts} == {
        ScriptRole.MAIN: True,
        ScriptRole.CONTROL: False,
    }
    assert [check.lines for check in reading.claim.having(Role.BUG)] == [("7",)]


def test_versions_beside_each_other_are_no_output() -> None:
    output = "numpy version: 1.18.3 torch version: 1.11.0\n0.4707426463801394\n"
    report = f"# Median\n\n```python\n{SCRIPT}```\nOutput:\n```\n{output}```\n"
    assert _bugs(report) == ["0.4707426463801394"]


@pytest.mark.parametrize("words", ["as it should", "as expected", "which is right"])
@pytest.mark.parametrize("system", ["Windows32", "win32", "Windows 32-bit"])
def test_a_value_that_is_as_it_should_be_is_no_bug(words: str, system: str) -> None:
    sentence = f"On Linux `np.rint(-0.0)` gives `-0.0`, {words}, but not on {system}."
    reading = _report(f"# rint\n\n{sentence}\n\n```python\nimport numpy as np\nprint(np.rint(-0.0))\n```\n")
    readings = (reading.claim, *reading.claim.further)
    assert not [
        check
        for each in readings
        for check in each.having(Role.BUG)
        if "-0.0" in (check.number, *check.lines)
    ]
