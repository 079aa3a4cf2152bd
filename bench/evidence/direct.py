"""Runs scripts with the harness's trace, without a sandbox, in forks of one process that has imported torch.

    TOOLCHAIN/bin/python bench/evidence/direct.py HARNESS OUT SCRIPT...

For measuring: all scripts take a minute. `OUT` gets a line of JSON for each script: `name`, `stdout`,
`plain_seconds`, `traced_seconds`, `trace`, the `trace` line of the report, and `failed`, a traceback.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

SECONDS = 120


def flat_copy(harness: Path, folder: Path) -> str:
    """The harness's files in one folder, as in the sandbox; returns it with a slash."""
    for path in harness.rglob("*.py"):
        if path.name != "__init__.py":
            text = path.read_text().replace("/run/samehere/", f"{folder}/")
            (folder / path.name).write_text(text)
    return f"{folder}/"


def load(path: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(compile(Path(path).read_text(), path, "exec"), names)  # noqa: S102
    return names


def run_script(path: str) -> None:
    """Execute a script as the main module."""
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    exec(compile(Path(path).read_text(), path, "exec"), vars(module))  # noqa: S102


def plain(path: str, _folder: str) -> dict[str, Any]:
    out, began = io.StringIO(), time.monotonic()
    with contextlib.redirect_stdout(out):
        run_script(path)
    return {"stdout": out.getvalue(), "plain_seconds": time.monotonic() - began}


def traced(path: str, folder: str) -> dict[str, Any]:
    elements = ModuleType("elements")
    load(folder + "elements.py", vars(elements))
    values = load(folder + "values.py", {"__name__": "values", "elements": elements})
    printed = values["PrintedTensors"]()
    printed.watch()
    trace = load(folder + "trace.py", {"__name__": "trace"})
    # An attempt on a CPU sees no card, and here the machine may have one.
    trace["CARDS"] = trace["CARDS"] and "cuda" in Path(path).read_text()
    questions = path_of_questions(folder)

    def keep(asked: object) -> dict[str, Any]:
        torch.save(asked, questions)
        return {}

    trace["ask"] = keep
    began = time.monotonic()
    running = trace["start"](printed)
    with contextlib.redirect_stdout(io.StringIO()):
        run_script(path)
    running.stop()
    facts = trace["message"](running)
    return {"trace": facts, "traced_seconds": time.monotonic() - began}


def path_of_questions(folder: str) -> str:
    return folder + "questions.pt"


def checked(_path: str, folder: str) -> dict[str, Any]:
    """The answer of the rounding check, in a process in which nothing is patched."""
    sys.argv = ["rounding_check.py", path_of_questions(folder)]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        load(folder + "rounding_check.py", {"__name__": "__main__", "__file__": folder + "rounding_check.py"})
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def in_a_fork(function: Callable[..., dict[str, Any]], *arguments: str) -> dict[str, Any]:
    """The function's result, a dict, from a fork; with `failed` if it raises or takes too long."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            answer = function(*arguments)
        except BaseException:  # noqa: BLE001  # a script may raise anything
            answer = {"failed": traceback.format_exc()[-2000:]}
        with os.fdopen(writer, "w") as file:
            file.write(json.dumps(answer))
            file.flush()
        os._exit(0)
    os.close(writer)
    chunks, end = [], time.monotonic() + SECONDS
    with os.fdopen(reader, "rb") as file:
        while select.select([file], [], [], max(0.0, end - time.monotonic()))[0]:
            chunk = os.read(file.fileno(), 1 << 16)
            if not chunk:
                break
            chunks.append(chunk)
        else:
            os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    text = b"".join(chunks)
    answer: dict[str, Any] = json.loads(text) if text.endswith(b"}") else {"failed": "no answer"}
    return answer


def main() -> None:
    harness, out, *scripts = map(Path, sys.argv[1:])
    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp())
    try:
        place = flat_copy(harness, folder)
        with out.open("w") as file:
            for script in scripts:
                row = {"name": script.stem, **in_a_fork(plain, str(script), place)}
                row |= in_a_fork(traced, str(script), place)
                if Path(path_of_questions(place)).exists():
                    facts, answer = row.get("trace", {}), in_a_fork(checked, str(script), place)
                    # What the shadow has proved is not asked.
                    answer["answered"] = answer.get("answered", 0) + facts.get("answered", 0)
                    facts.update(answer)
                    Path(path_of_questions(place)).unlink()
                file.write(json.dumps(row) + "\n")
                file.flush()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
