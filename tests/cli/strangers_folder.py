"""A folder with everything that Python and our tools might run or obey; each part leaves a mark."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Names of ours, names of the standard library, and names that Python or Celery import by themselves.
MODULES = (
    "worker/__init__.py",
    "worker/__main__.py",
    "app/__init__.py",
    "app/cli.py",
    "app/tasks/__init__.py",
    "migrations/__init__.py",
    "migrations/env.py",
    "json/__init__.py",
    "json.py",
    "ast.py",
    "difflib.py",
    "getpass.py",
    "tempfile.py",
    "pydantic.py",
    "samehere.py",
    "pip/__init__.py",
    "pip/__main__.py",
    "sitecustomize.py",
    "usercustomize.py",
    "celeryconfig.py",
)
# A tool that obeys one of these fails, or goes to an index at which nobody listens.
SETTINGS = {
    "alembic.ini": "[alembic]\nscript_location = migrations\nprepend_sys_path = .\n",
    ".env": "SAMEHERE_HOME=obeyed\nSAMEHERE_PORT=1\nSAMEHERE_DATABASE_URL=postgresql://127.0.0.1:1/obeyed\n",
    "pip.conf": "[global]\nindex-url = http://127.0.0.1:1/\nno-index = false\n",
    "uv.toml": "this is not TOML\n",
    "pyproject.toml": '[tool.uv]\nindex-url = 1\n[tool.alembic]\nscript_location = "migrations"\n',
    ".python-version": "2.7\n",
}


@dataclass(frozen=True, slots=True)
class StrangersFolder:
    """The folder, and the file in which its parts leave their marks."""

    path: Path
    mark_file: Path

    def marks(self) -> str:
        """The parts that were run, one a line; empty if none was."""
        return self.mark_file.read_text() if self.mark_file.exists() else ""


def make_strangers_folder(path: Path) -> StrangersFolder:
    """Write the folder. Everyone may read it and add to the marks, as a part may run with any uid."""
    marks = path.with_name(path.name + "-marks")
    marks.touch()
    marks.chmod(0o666)
    for name in MODULES:
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        line = f"{name!r} + ' in ' + repr(sys.argv) + '\\n'"
        file.write_text(f"import sys\nopen({str(marks)!r}, 'a').write({line})\n")
    for name, text in SETTINGS.items():
        (path / name).write_text(text)
    for file in (path, *path.rglob("*")):
        file.chmod(0o755 if file.is_dir() else 0o644)
    return StrangersFolder(path, marks)


def leaves_a_mark(folder: StrangersFolder) -> bool:
    """Whether a part that is run is seen. Empties the marks again."""
    subprocess.run([sys.executable, "-c", "import ast"], cwd=folder.path, check=False, capture_output=True)
    seen = bool(folder.marks())
    folder.mark_file.write_text("")
    return seen
