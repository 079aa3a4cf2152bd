"""Whatever runs in a toolchain's or a reporter's Python is written for Python 3.8, in syntax and library."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from worker.contract.programs import repeat
from worker.contract.programs.probe import probe_program
from worker.contract.programs.repeat import RecordedAttempt, repeat_program
from worker.toolchains import venv

ROOT = Path(__file__).parents[2]
OLDEST = ".".join(map(str, venv.OLDEST))
# Methods that are newer. The checker knows functions and modules, but seldom the type of a value.
NEWER_METHODS = frozenset(
    {"removeprefix", "removesuffix", "bit_count", "is_relative_to", "with_stem", "hardlink_to"}
)
# Names that a program uses only where they exist: it looks at the version first.
ASKED_FOR = ("sys.monitoring",)
LAZY = "from __future__ import annotations\n"


def files() -> dict[str, str]:
    """The modules that the settings of ruff name as old, but those that only the node imports."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    paths = {
        path
        for pattern in settings["per-file-target-version"]
        for path in ROOT.glob(pattern)
        if path.is_file()
    }
    return {
        str(path.relative_to(ROOT)): path.read_text() for path in sorted(paths) if path.name != "__init__.py"
    }


def programs() -> dict[str, str]:
    """The programs that are made by the code."""
    attempt = RecordedAttempt(
        script="print(1)\n",
        target="cpu@t",
        device="cpu",
        settings={"seed": "1"},
        hash_seed="1",
        python="3.8.1",
    )
    tail = ast.parse(repeat._TAIL)
    assignment = next(node for node in tail.body if isinstance(node, ast.Assign))
    assert isinstance(assignment.value, ast.Constant)
    return {
        "repeat.py": repeat_program(attempt),
        "prologue of repeat.py": str(assignment.value.value),
        "probe.py": probe_program(),
        "the question to an interpreter": venv._PROGRAM,
        "the hook": venv.HOOK_PTH,
    }


def unions(tree: ast.Module) -> list[int]:
    """The lines of annotations with `X | Y`. The checker takes every such sign for one."""
    annotations = [
        getattr(node, field, None) for node in ast.walk(tree) for field in ("annotation", "returns")
    ]
    return [
        inner.lineno
        for annotation in annotations
        if annotation is not None
        for inner in ast.walk(annotation)
        if isinstance(inner, ast.BinOp)
    ]


def newer_parts(sources: Mapping[str, str], folder: Path) -> str:
    """The checker's words about whatever is newer than the oldest Python; "" if nothing is."""
    folder.mkdir(exist_ok=True)
    found = []
    for number, (name, source) in enumerate(sources.items()):
        try:
            tree = ast.parse(source, feature_version=venv.OLDEST)
        except SyntaxError as error:
            found.append(f"{name}: {error}")
            continue
        found += [
            f"{name}:{node.lineno}: {node.attr}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and node.attr in NEWER_METHODS
        ]
        if LAZY not in source:
            found += [f"{name}:{line}: X | Y in an annotation" for line in unions(tree)]
        # Annotations are evaluated unless the module says otherwise.
        part = folder / ("lazy" if LAZY in source else "eager")
        part.mkdir(exist_ok=True)
        (part / f"{number}_{Path(name).stem.replace(' ', '_')}.py").write_text(source)
    for part in sorted(folder.iterdir()):
        options = ["--eval-annotations"] if part.name == "eager" else []
        command = [sys.executable, "-P", "-c", "import vermin; vermin.main()", f"--target={OLDEST}-"]
        command += ["--violations", "--no-tips", "--processes=1", *options]
        command += [word for name in ASKED_FOR for word in ("--exclude", name)]
        checked = subprocess.run([*command, str(part)], capture_output=True, text=True, check=False)
        if checked.returncode:
            found.append(checked.stdout + checked.stderr)
    return "\n".join(found)


def test_nothing_is_newer(tmp_path: Path) -> None:
    assert newer_parts(files() | programs(), tmp_path) == ""


def test_the_harness_and_every_module_that_says_so_is_checked() -> None:
    checked = files()
    for path in sorted((ROOT / "worker").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if path.name == "__init__.py" or name.startswith("worker/contract/programs/"):
            continue
        if name.startswith("worker/harness/") or f"Python {OLDEST} syntax" in path.read_text():
            assert name in checked


def test_the_checker_finds_what_is_newer(tmp_path: Path) -> None:
    planted = {
        "a_method": "def f(name):\n    return name.removeprefix('a')\n",
        "a_method_of_int": "n = 3\nprint(n.bit_count())\n",
        "an_argument": "print(list(zip([1], [2], strict=True)))\n",
        "a_generic": "x: list[int] = []\n",
        "a_union": "def f(a: int | None): pass\n",
        "a_match": "match 3:\n    case 3: pass\n",
        "a_dict_union": "d = {'a': 1} | {'b': 2}\n",
        "a_module": "import zoneinfo\n",
        "a_decorator": "import functools\n@functools.cache\ndef f(): pass\n",
        "a_function": "import os\nos.pidfd_open(3)\n",
        "a_with": "with (open('a') as f, open('b') as g): pass\n",
    }
    words = newer_parts(planted, tmp_path)
    assert [name for name in planted if name not in words] == []
    assert (
        newer_parts({"fine": LAZY + "def f(a: list[int] | None) -> None:\n    print(a)\n"}, tmp_path / "b")
        == ""
    )
