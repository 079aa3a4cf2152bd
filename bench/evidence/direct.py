"""Runs scripts with the harness's trace, without a sandbox, in forks of one process that has imported torch.

    TOOLCHAIN/bin/python bench/evidence/direct.py HARNESS OUT SCRIPT...

For measuring: all scripts take a minute. `OUT` gets a line of JSON for each script: `name`, `stdout`,
`plain_seconds`, `traced_seconds`, `trace`, the `trace` line of the report, and `failed`, a traceback.
"""

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import torch

SECONDS = 120


def flat_copy(harness, folder):
    """The harness's files in one folder, as in the sandbox; returns it with a slash."""
    for path in harness.rglob("*.py"):
        if path.name != "__init__.py":
            text = path.read_text().replace("/run/samehere/", f"{folder}/")
            (folder / path.name).write_text(text)
    return f"{folder}/"


def load(path, names):
    exec(compile(Path(path).read_text(), path, "exec"), names)
    return names


def run_script(path):
    """Execute a script as the main module."""
    module = type(sys)("__main__")
    sys.modules["__main__"] = module
    exec(compile(Path(path).read_text(), path, "exec"), vars(module))


def plain(path, _folder):
    out, began = io.StringIO(), time.monotonic()
    with contextlib.redirect_stdout(out):
        run_script(path)
    return {"stdout": out.getvalue(), "plain_seconds": time.monotonic() - began}


def traced(path, folder):
    elements = type(sys)("elements")
    load(folder + "elements.py", vars(elements))
    values = load(folder + "values.py", {"__name__": "values", "elements": elements})
    printed = values["PrintedTensors"]()
    printed.watch()
    trace = load(folder + "trace.py", {"__name__": "trace"})
    questions = path_of_questions(folder)

    def keep(asked):
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


def path_of_questions(folder):
    return folder + "questions.pt"


def checked(_path, folder):
    """The answer of the rounding check, in a process in which nothing is patched."""
    sys.argv = ["rounding_check.py", path_of_questions(folder)]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        load(folder + "rounding_check.py", {"__name__": "__main__", "__file__": folder + "rounding_check.py"})
    return json.loads(out.getvalue())


def in_a_fork(function, *arguments):
    """The function's result, a dict, from a fork; with `failed` if it raises or takes too long."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            answer = function(*arguments)
        except BaseException:
            answer = {"failed": traceback.format_exc()[-2000:]}
        with os.fdopen(writer, "w") as file:
            file.write(json.dumps(answer))
            file.flush()
        os._exit(0)
    os.close(writer)
    import select

    chunks, end = [], time.monotonic() + SECONDS
    with os.fdopen(reader, "rb") as file:
        while select.select([file], [], [], max(0.0, end - time.monotonic()))[0]:
            chunk = os.read(file.fileno(), 1 << 16)
            if not chunk:
                break
            chunks.append(chunk)
        else:
            os.kill(pid, 9)
    os.waitpid(pid, 0)
    text = b"".join(chunks)
    return json.loads(text) if text.endswith(b"}") else {"failed": "no answer"}


def main():
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
                    row.get("trace", {}).update(in_a_fork(checked, str(script), place))
                    Path(path_of_questions(place)).unlink()
                file.write(json.dumps(row) + "\n")
                file.flush()
    finally:
        shutil.rmtree(folder)


main()
