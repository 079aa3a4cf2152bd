"""The command, the environment and the working folder of each process that samehere starts for itself.

The current folder may be a stranger's checkout. So a process of ours runs no code of it and obeys no file of
it: Python does not look for modules there, no variable of Python is passed on, and we choose the working
folder.
The user's own settings of pip and uv, in variables and in files of the user, stay in force.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

# Only an administrator writes there, and no folder above it could hold settings of a tool.
WORKING_FOLDER = Path(os.sep)
# The program that finds our packages whatever others have the same names. The first argument after `-P`.
START = Path(__file__).resolve().parents[2] / "samehere.py"
# Settings that are paths. A relative one means a file below the folder of the caller.
OWN_PATHS = frozenset(
    {
        *(f"SAMEHERE_{name}" for name in ("HOME", "TOOLCHAINS", "LOCKS", "PAUSE_FILE", "PRESETS")),
        "SAMEHERE_POSTGRES_PROGRAMS",
        *("SAMEHERE_BROKER_PASSWORD_FILE", "SAMEHERE_DATABASE_PASSWORD_FILE", "SAMEHERE_READER_KEY_FILE"),
        *(f"SAMEHERE_GITHUB_{name}" for name in ("KEY_FILE", "SECRET_FILE", "REPOSITORIES")),
        "SAMEHERE_WEBHOOK_KEY_FILE",
    }
)
# Settings of others that may hold paths, some of them several with spaces between them.
USERS_PATHS = frozenset(
    {
        *(f"PIP_{name}" for name in ("CACHE_DIR", "CERT", "CLIENT_CERT", "CONFIG_FILE", "CONSTRAINT")),
        *("PIP_FIND_LINKS", "PIP_LOG", "UV_BUILD_CONSTRAINT", "UV_CONFIG_FILE", "UV_CONSTRAINT"),
        *("UV_FIND_LINKS", "UV_PYTHON_INSTALL_DIR", "PYENV_ROOT"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC", "TMPDIR"),
    }
)


def python_command(*words: str, unbuffered: bool = False) -> list[str]:
    """The command of a Python process of ours. `words` begin with `-m`, the module, and its arguments.

    `unbuffered`: its output is written at once.
    """
    return [sys.executable, "-P", *(["-u"] if unbuffered else []), str(START), *words]


def script_command(script: str | Path, *words: str) -> list[str]:
    """The command of a script of ours that uses only the standard library."""
    return [sys.executable, "-I", "-S", str(script), *words]


def own_environment(variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables for a process of ours: the given ones, or else those of this process.

    Without all variables of Python. Relative paths become absolute, since the working folder changes.
    """
    given = os.environ if variables is None else variables
    passed_on = {name: value for name, value in given.items() if not name.upper().startswith("PYTHON")}
    for name in OWN_PATHS & passed_on.keys():
        if passed_on[name]:
            passed_on[name] = os.path.abspath(passed_on[name])  # noqa: PTH100  # without the links of the path
    for name in USERS_PATHS & passed_on.keys():
        passed_on[name] = " ".join(_absolute(word) for word in passed_on[name].split(" "))
    return passed_on


def leave_current_folder() -> None:
    """Make the variables of this process those of a process of ours, and change to our working folder.

    For a process that reads no file of its caller. Celery, for one, imports from the current folder.
    """
    variables = own_environment()
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)
    os.chdir(WORKING_FOLDER)


def _absolute(word: str) -> str:
    """The absolute path if the word is the relative path of something that exists, else the word."""
    return str(Path.cwd() / word) if word and not os.path.isabs(word) and Path(word).exists() else word  # noqa: PTH117
