"""Folders stay small enough to be read at a glance, and packages import only what is below them."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_MODULES = 15
# One table a file; one migration a file.
EXEMPT = {"app/storage/models", "migrations/versions"}
# One line of code for each import contract. It breaks that contract and is written into the module beside it.
VIOLATIONS = {
    "the node's code never imports the trusted side": ("worker/planted.py", "import app.clock"),
    "the trusted side imports the contract of the node's code and nothing else of it": (
        "app/runs/planted.py",
        "import worker.slots.pool",
    ),
    "the client of other programs needs nothing else of samehere": (
        "samehere_client/planted.py",
        "import app.clock",
    ),
    "intake, planning, judging and searching are pure": ("app/judging/planted.py", "import sqlalchemy"),
    "REST, pages and tools are siblings": ("app/api/planted.py", "import app.web.pages"),
    "what runs inside the sandbox is standard library only": ("worker/harness/planted.py", "import pydantic"),
    "the rooms of the trusted side, high to low; a new module has to be given its place": (
        "app/storage/planted.py",
        "import app.api",
    ),
    "the rooms of app.runs, high to low": ("app/runs/rows/planted.py", "import app.runs.lifecycle.settle"),
    "the rooms of app.intake, high to low": ("app/intake/code/planted.py", "import app.intake.read"),
    "the rooms of app.judging, high to low": (
        "app/judging/output/planted.py",
        "import app.judging.verdict.job",
    ),
    "the rooms of app.targets, high to low": (
        "app/targets/versions/planted.py",
        "import app.targets.planning.plan",
    ),
    "the rooms of app.command, high to low": (
        "app/command/files/planted.py",
        "import app.command.service.client",
    ),
    "the rooms of app.web, high to low": ("app/web/text/planted.py", "import app.web.views.runs"),
    "the rooms of the node, high to low; a new module has to be given its place": (
        "worker/sandbox/planted.py",
        "import worker.node.service",
    ),
    "the rooms of the sandbox, high to low": (
        "worker/sandbox/process/planted.py",
        "import worker.sandbox.backend",
    ),
    "storage knows no use case": ("app/storage/planted_too.py", "import app.runs.lifecycle.settle"),
    "the embedded servers know nothing of what uses them": ("app/embedded/planted.py", "import sqlalchemy"),
}


def crowded_folders(root: Path) -> Iterator[str]:
    """Folders of code with more than MOST_MODULES modules, `__init__` not counted."""
    for top in ("app", "worker", "migrations"):
        for folder in sorted({path.parent for path in (root / top).rglob("*.py")}):
            count = sum(path.name != "__init__.py" for path in folder.glob("*.py"))
            name = str(folder.relative_to(root))
            if count > MOST_MODULES and name not in EXEMPT:
                yield f"{name} ({count} modules)"


def rooms_without_a_line(root: Path) -> Iterator[str]:
    """Packages whose `__init__` does not say in one line what lives there."""
    for top in ("app", "worker", "samehere_client"):
        for folder in sorted({path.parent for path in (root / top).rglob("*.py")}):
            path = folder / "__init__.py"
            first_line = (ast.get_docstring(ast.parse(path.read_text())) if path.exists() else None) or ""
            if not first_line.partition("\n")[0].strip():
                yield str(folder.relative_to(root))


def test_a_folder_can_be_read_at_a_glance() -> None:
    assert list(crowded_folders(ROOT)) == []


def test_the_measure_sees_a_crowded_folder(tmp_path: Path) -> None:
    folder = tmp_path / "app" / "crowd"
    folder.mkdir(parents=True)
    for number in range(MOST_MODULES + 1):
        (folder / f"module{number}.py").touch()
    assert list(crowded_folders(tmp_path)) == ["app/crowd (16 modules)"]


def test_a_package_says_what_lives_in_it() -> None:
    assert list(rooms_without_a_line(ROOT)) == []


def test_a_silent_package_is_seen(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").touch()
    assert list(rooms_without_a_line(tmp_path)) == ["app"]


def lint_imports(folder: Path) -> str:
    """The report of the import contracts over the code in this folder."""
    program = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, '.'); {program}", "--no-cache"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=250,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "COLUMNS": "400", "NO_COLOR": "1"},
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def report_of_violations(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report over a copy of the code in which every import contract is broken."""
    folder = tmp_path_factory.mktemp("planted")
    for top in ("app", "worker", "samehere_client"):
        shutil.copytree(ROOT / top, folder / top, ignore=shutil.ignore_patterns("data", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for path, line in VIOLATIONS.values():
        with (folder / path).open("a") as file:
            file.write(f"{line}\n")
    return lint_imports(folder)


def test_every_import_contract_has_a_planted_violation() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert {contract["name"] for contract in contracts} == set(VIOLATIONS)


@pytest.mark.parametrize("name", VIOLATIONS)
def test_an_import_contract_can_be_broken(name: str, report_of_violations: str) -> None:
    flat = re.sub(r"\s+", " ", report_of_violations)
    assert f"{name} BROKEN" in flat


def test_the_import_contracts_hold() -> None:
    assert "0 broken" in lint_imports(ROOT)
