"""Forms in which code is pasted: the script, its repairs, and the questions where there is none."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import CheckKind, Role
from app.intake.reading import Reading

LINES = "import torch\nx = torch.ones(2)\nprint(x.sum())"


def report(text: str) -> Reading:
    return read(text, form="report")


# Each holds LINES and nothing else, and needs no repair.
PLAIN = {
    "fence in a quote": (
        "> ```python\n> import torch\n> x = torch.ones(2)\n> print(x.sum())\n> ```\n\nIt is wrong."
    ),
    "fence in a list": (
        "1. Run\n\n   ```python\n   import torch\n   x = torch.ones(2)\n   print(x.sum())\n   ```\n2. See"
    ),
    "nested details": (
        f"<details>\n<summary>a</summary>\n<details>\n\n```python\n{LINES}\n```\n</details>\n</details>"
    ),
    "details never closed": f"<details><summary>a</summary>\n\n```python\n{LINES}\n```\n",
    "too many closing tags and fences": f"```python\n{LINES}\n```\n</details>\n</details>\n```\n```\n",
    "tab before each line": "Run\n\n\t" + LINES.replace("\n", "\n\t") + "\n\nIt is wrong.",
    "windows line ends": f"```python\n{LINES}\n```\nIt is wrong.".replace("\n", "\r\n"),
    "tildes": f"~~~ python\n{LINES}\n~~~",
    "fence never closed": f"Text\n```python\n{LINES}",
    "pre": f"<pre><code>{LINES}\n</code></pre>\nIt is wrong.",
    "pre with a language": f'<pre lang="python">\n{LINES}\n</pre>',
    "pre around a fence": f"<pre>\n\n```python\n{LINES}\n```\n\n</pre>",
    "comment that is never closed, in a heading": (
        f"### To reproduce <!-- the steps\n\n```python\n{LINES}\n```\n\n<!-- done -->"
    ),
    "comment that is never closed, in prose": f"a <!-- b\n\n```python\n{LINES}\n```\n--> c",
    "decoy in a comment of several paragraphs": (
        f"<!--\nFor example:\n\n```python\nprint('decoy')\n```\n-->\n```python\n{LINES}\n```"
    ),
    "issue form": (
        f"### Describe the bug\n\nIt hangs.\n\n### Code\n\n```python\n{LINES}\n```\n\n"
        "### Logs\n\n_No response_\n"
    ),
    "code on the line of the fence": "```python import torch\nx = torch.ones(2)\nprint(x.sum())\n```",
    "code right after the fence": "```import torch\nx = torch.ones(2)\nprint(x.sum())```",
    "shown by cat": f"```\n$ cat a.py\n{LINES}\n$ python a.py\ntensor(2.)\n```",
    "a here-document": f"```bash\ncat > a.py <<'EOF'\n{LINES}\nEOF\npython a.py\n```",
    "after python -c": f'```sh\npython -c "{LINES}"\n```',
    "other languages beside it": (
        f"```diff\n- a\n+ b\n```\n```cpp\nint main() {{}}\n```\n```python\n{LINES}\n```"
    ),
}


@pytest.mark.parametrize("text", PLAIN.values(), ids=list(PLAIN))
def test_the_script_is_found(text: str) -> None:
    reading = report(text)
    assert [script.as_given.strip().splitlines() for script in reading.scripts] == [LINES.splitlines()]
    assert (reading.scripts[0].repairs, reading.ask) == ((), ())


# (report, script as run, codes of the repairs, claimed output).
REPAIRED = {
    "print statements": ("```python\na = 7\nprint a / 2\n```", "a = 7\nprint(a / 2)", ["python2_print"]),
    "print to a file": (
        '```python\nimport sys\nprint >>sys.stderr, "a", 1\nprint "%d" % 2,\nprint\n```',
        'import sys\nprint("a", 1, file=sys.stderr)\nprint("%d" % 2, end=" ")\nprint()',
        ["python2_print"],
    ),
    "print in a session": (
        "```\n>>> x = 3\n>>> print x * 2\n6\n```",
        "x = 3\nprint(x * 2)",
        ["python2_print"],
    ),
    "print and its output": ("```\nx = 7\nprint 'a', x\na 7\n```", "x = 7\nprint('a', x)", ["python2_print"]),
    "quotes": (
        "```python\nd = {“b”: 1, ‘a’: 2}\nprint(d)\n```",
        "d = {\"b\": 1, 'a': 2}\nprint(d)",
        ["smart_quotes"],
    ),
    "quotes and output": ("```\nx = 1\nprint(“a”, x)\na 1\n```", 'x = 1\nprint("a", x)', ["smart_quotes"]),
    "dashes": ("```python\nprint(3 – 2)\n```", "print(3 - 2)", ["smart_dashes"]),
    "spaces": ("```python\nx\u00a0= 3\u200b\nprint(x)\n```", "x = 3\nprint(x)", ["invisible_characters"]),
    "full width": ("```python\nprint\uff081\uff0c2\uff09\n```", "print(1,2)", ["full_width_characters"]),
    "entities": (
        ("```python\nx = 3\nif x &gt; 2:\n    print('a &amp; b')\n```"),
        "x = 3\nif x > 2:\n    print('a & b')",
        ["html_entities"],
    ),
    "entities that parse": (
        "```python\nx = 3\ny = x &gt; 2\nprint(y)\n```",
        "x = 3\ny = x > 2\nprint(y)",
        ["html_entities"],
    ),
    "entities in pre": ("<pre>\nprint(1 &lt; 2)\n</pre>", "print(1 < 2)", ["html_entities"]),
    "numbered lines": ("```python\n1 x = 3\n2 print(x)\n```", "x = 3\nprint(x)", ["line_numbers"]),
    "indent": ("```python\n    x = 3\n    print(x)\n```", "x = 3\nprint(x)", ["common_indent"]),
    "magics": (
        "```python\n%matplotlib inline\n!pip install -q torch\nprint(1)\n```",
        "# %matplotlib inline\n# !pip install -q torch\nprint(1)",
        ["shell_line"],
    ),
    "a cell whose value is claimed": (
        "```python\nx = [1, 2]\nx.index(2)\n```\nOutput:\n```\n0\n```",
        'x = [1, 2]\n__import__("sys").displayhook(x.index(2))',
        ["shown_value"],
    ),
    "prompts of IPython": (
        "```\nIn [1]: x = 3\n   ...: x + 1\nOut[1]: 4\n```",
        'x = 3\n__import__("sys").displayhook(x + 1)',
        ["shown_value"],
    ),
    "doctest": (
        "Docs:\n\n    >>> x = 3\n    >>> x\n    3\n\nWrong",
        'x = 3\n__import__("sys").displayhook(x)',
        ["shown_value"],
    ),
}


@pytest.mark.parametrize(("text", "run", "repairs"), REPAIRED.values(), ids=list(REPAIRED))
def test_a_repair_has_a_name(text: str, run: str, repairs: list[str]) -> None:
    reading = report(text)
    assert [
        (script.script.strip(), [repair.code for repair in script.repairs]) for script in reading.scripts
    ] == [(run, repairs)]
    squeezed = "".join(text.split())
    assert all("".join(line.split()) in squeezed for line in reading.scripts[0].as_given.splitlines())


@pytest.mark.parametrize(
    "code",
    [
        "print('“quoted” \u00a0 &gt; – \uff081\uff09')",
        "s = '''\n!pip install a\n%time\nprint x\n'''\nprint(s)",
        "x = [1, 2]\nprint(x)\nx",
        "def f(gt, x):\n    return x &gt\nprint(f(1, 3))",
    ],
)
def test_what_can_be_run_is_run_as_it_is(code: str) -> None:
    script = report(f"```python\n{code}\n```\nIt prints `1`.").scripts[0]
    assert (script.script.strip(), script.repairs) == (code, ())


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("x = 3\nprint x", "SyntaxError: Missing parentheses in call to 'print'"),
        ("print(“a”)", "SyntaxError: invalid character"),
        ("print(np.ones(2), torch)", "NameError: name 'np' is not defined"),
    ],
)
def test_no_repair_removes_what_is_claimed(code: str, failure: str) -> None:
    reading = report(f"```python\n{code}\n```\n\n```\n{failure}\n```")
    assert (reading.scripts[0].script.strip(), reading.scripts[0].repairs, reading.ask) == (code, (), ())
    assert [check.kind for check in reading.claim.checks] == [CheckKind.EXCEPTION]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("The code is at https://gist.github.com/a/b", "no_script"),
        ("[![Open](https://example.invalid/badge.svg)](https://example.invalid/notebook)", "no_script"),
        ('<img width="100" src="https://example.invalid/a.png">', "no_script"),
        ("```bash\npip install torch\npython train.py\n```", "no_script"),
        ("```python\nTraceback (most recent call last):\nValueError: a\n```", "no_script"),
        ("```c++\nint main() {}\n```", "no_python"),
        ("```python\nx = 3\nif x &gt 2 then:\n    go\n```", "no_python"),
        ("```python\na = 7\nexec 'b = 3'\nprint a\n```", "no_python"),
    ],
)
def test_what_is_asked(text: str, code: str) -> None:
    reading = report(text)
    assert (reading.scripts, [ask.code for ask in reading.ask]) == ((), [code])


def test_links_and_pictures_are_named_in_what_is_asked() -> None:
    assert "Links" in report("See https://example.invalid/a").ask[0].text
    assert "Links" not in report("It is broken.").ask[0].text


def test_comments_in_a_session_are_not_printed() -> None:
    reading = report("```\n# On GPU\n>>> x = 2\n>>> x\n2\n\n# On CPU\n>>> x + 1\n3\n```")
    assert reading.scripts[0].as_given.splitlines() == ["# On GPU", "x = 2", "x", "# On CPU", "x + 1"]
    assert not any("#" in line for check in reading.claim.checks for line in check.lines)


@pytest.mark.parametrize(
    "prompt",
    [
        "(env) ➜  proj git:(master) ✗ python a.py",
        "user@host:~$ python a.py",
        "C:\\Users\\me> python a.py",
        "(base) PS C:\\Users\\me> python a.py",
        "[me@host proj]# python a.py",
        "$ python a.py",
    ],
)
def test_a_prompt_of_a_shell_is_not_printed(prompt: str) -> None:
    reading = report(f"```python\n{LINES}\n```\nOutput:\n```\n{prompt}\ntensor(3.)\n```")
    bugs = [check for check in reading.claim.checks if check.role is Role.BUG]
    assert [check.lines for check in bugs] == [("tensor(3.)",)]


def test_the_cells_of_a_notebook_are_one_script() -> None:
    cells = [
        "%matplotlib inline\nimport numpy as np",
        "x = np.arange(3, dtype=np.uint8)\ny = x - np.uint8(1)",
        "print(y)",
    ]
    reading = report("\n".join(f"```\n{cell}\n```" for cell in [*cells, "[255   0   1]"]))
    (script,) = reading.scripts
    assert [repair.code for repair in script.repairs] == ["joined_parts", "shell_line"]
    assert script.script.splitlines()[-1] == "print(y)"
    assert reading.claim.checks[0].lines == ("[255   0   1]",)


@pytest.mark.parametrize(
    "between",
    [
        "\nAnd on the GPU:\n",
        "\nThe same without a copy:\n",
    ],
)
def test_blocks_with_words_between_them_are_no_cells(between: str) -> None:
    reading = report(f"```python\nimport torch\nx = torch.ones(2)\n```\n{between}\n```python\n{LINES}\n```")
    assert len(reading.scripts) == 2


def test_a_block_that_shows_something_is_no_cell_of_the_next() -> None:
    reading = report(f"```python\n{LINES}\n```\n```python\nimport torch\nx = torch.zeros(3)\nprint(x)\n```")
    assert len(reading.scripts) == 2


def test_a_file_shows_no_value_that_it_does_not_print() -> None:
    reading = read("import torch\ntorch.ones(2).sum()\n", form="script", claim='prints "tensor(3.)"')
    assert reading.scripts[0].repairs == ()


def test_what_writes_by_itself_is_no_value_to_show() -> None:
    reading = report(
        '```python\nimport sys\nsys.stdout.buffer.write(b"value 3\\n")\n```\n\nIt prints `value 3`.'
    )
    assert reading.scripts[0].repairs == ()


def test_what_depends_on_a_version_is_a_script_and_what_only_prints_it_is_none() -> None:
    depends = (
        "It prints 44.\n\n```python\nimport sys\nprint(44 if sys.version_info >= (3, 12) else 300)\n```\n"
    )
    assert len(read(depends, form="report").scripts) == 1
    tells = "It prints 44.\n\n```python\nimport sys\nprint(sys.version_info)\n```\n"
    assert read(tells, form="report").scripts == ()
