"""One file that repeats an attempt in anybody's own Python: the script unchanged, a target's settings around it, and what to compare."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from worker.contract.target_settings import AppliedSettings, apply_settings

# Of what was printed; a longer text is compared by its digest alone.
MOST_PRINTED = 16_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.!]{0,40}")
_PYTHON = re.compile(r"3\.[0-9]{1,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An attempt as it was recorded; everything but the target is text of strangers. `packages` are what the script imports."""

    script: str
    target: str
    device: str
    settings: Mapping[str, str] = field(default_factory=dict)
    hash_seed: str = ""
    python: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    ended: str = ""
    # Of the attempt, from its start to its end.
    seconds: float | None = None
    # In how many of so many attempts it was seen, where that was not in all; else 0.
    matched: int = 0
    of: int = 0
    exit_status: int | None = None
    signal: str = ""
    exception: str = ""
    stdout: str = ""
    stdout_digest: str = ""
    # Whether all of what was printed was kept.
    whole: bool = True
    address: str = ""


def repeat_program(recorded: Recorded) -> str:
    """The text of the file. What strangers wrote stands in it as string literals of ASCII only."""
    applied = apply_settings(recorded.settings, cpu_isa=["avx2", "sse4.2", "compatible"])
    data = {
        "TARGET": recorded.target,
        "ADDRESS": recorded.address,
        "VARIABLES": _variables(recorded, applied),
        "SETTINGS": dict(sorted(applied.harness.items())),
        "RECORDED": {
            "ended": recorded.ended,
            "seconds": recorded.seconds,
            "matched": recorded.matched,
            "of": recorded.of,
            "exit_status": recorded.exit_status,
            "signal": recorded.signal,
            "exception": recorded.exception,
            "stdout": recorded.stdout if recorded.whole and len(recorded.stdout) <= MOST_PRINTED else None,
            "stdout_digest": recorded.stdout_digest,
        },
        "FACTS": dict(recorded.facts),
        "PACKAGES": {name: version.partition("+")[0] for name, version in recorded.packages.items()},
    }
    named = "\n".join(f"{name} = {_literal(value)}" for name, value in data.items())
    lines = "\n".join(f"    {line!a}" for line in recorded.script.splitlines(keepends=True)) or "    ''"
    return f"{_HEAD}{_requirements(recorded)}{_IMPORTS}{named}\n# The script, line by line, unchanged.\nSCRIPT = (\n{lines}\n)\n{_TAIL}"


def _literal(value: object) -> str:
    if isinstance(value, dict):
        inside = "".join(f"    {str(key)!a}: {item!a},\n" for key, item in value.items())
        return f"{{\n{inside}}}" if inside else "{}"
    return ascii(value)


def _variables(recorded: Recorded, applied: AppliedSettings) -> dict[str, str]:
    variables = dict(applied.variables)
    if recorded.hash_seed.isdecimal():
        variables["PYTHONHASHSEED"] = recorded.hash_seed
    if recorded.device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    return dict(sorted(variables.items()))


def _requirements(recorded: Recorded) -> str:
    """As `uv run` and `pipx run` read them (PEP 723); only what is surely a name and a version. A local version is on no index."""
    public = {name: version.partition("+")[0] for name, version in recorded.packages.items()}
    pinned = [
        f"{name}=={version}"
        for name, version in sorted(public.items())
        if _NAME.fullmatch(name) and _VERSION.fullmatch(version)
    ]
    minor = ".".join(recorded.python.split(".")[:2])
    python = f'# requires-python = "=={minor}.*"\n' if _PYTHON.fullmatch(minor) else ""
    listed = "".join(f'#   "{one}",\n' for one in pinned)
    return f"# /// script\n{python}# dependencies = [\n{listed}# ]\n# ///\n" if pinned or python else ""


_HEAD = '''#!/usr/bin/env python3
"""Repeats one attempt that samehere recorded, in your own Python, and says whether it is the same here.

    python repeat.py         with the packages that you have
    uv run repeat.py         with the packages that were recorded, in a place of its own

It runs the script below, unchanged, in a new process, with the environment variables and settings of the target. There is no sandbox:
read the script first. It ends with 0 where the same happens, with 1 where something else does,
with 2 where a package is missing. A script that was stopped there at a limit is stopped here, too.
"""
'''
_IMPORTS = """
import difflib
import hashlib
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile

"""
_TAIL = r'''
PROLOGUE = """
import json, os, runpy, sys
settings = json.loads(os.environ.pop("REPEAT_SETTINGS"))
import torch
if "deterministic" in settings or "fill" in settings:
    torch.use_deterministic_algorithms(True, warn_only="deterministic" not in settings)
    torch.utils.deterministic.fill_uninitialized_memory = settings.get("fill") == "nan"
if "tf32" in settings:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = settings["tf32"] == "on"
if "seed" in settings:
    import random
    random.seed(int(settings["seed"]))
    torch.manual_seed(int(settings["seed"]))
sys.argv = [sys.argv[1]]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def found_facts():
    found = {"python.version": platform.python_version()}
    try:
        from importlib.metadata import version
    except ImportError:
        return found
    for name in FACTS:
        if name == "torch.version" or name.startswith("package."):
            try:
                found[name] = version(name[8:] if name.startswith("package.") else "torch")
            except Exception:
                found[name] = "not there"
    return found


def run_it(folder):
    path = os.path.join(folder, "script.py")
    with open(path, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        file.write(SCRIPT)
    environment = dict(os.environ, **VARIABLES)
    command = [sys.executable, path]
    if SETTINGS:
        import json

        environment["REPEAT_SETTINGS"] = json.dumps(SETTINGS)
        command = [sys.executable, "-c", PROLOGUE, path]
    kept = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": os.name == "posix"}
    if limit():
        # What is printed until then is not lost.
        environment["PYTHONUNBUFFERED"] = "1"
    process = subprocess.Popen(command, cwd=folder, env=environment, **kept)
    try:
        stdout, stderr = process.communicate(timeout=limit())
        return process.returncode, stdout, stderr
    except subprocess.TimeoutExpired:
        end_it(process)
        stdout, stderr = process.communicate()
        return None, stdout, stderr
    except BaseException:
        end_it(process)
        raise


def end_it(process):
    """With everything that the script has started."""
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(process.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.kill()


def limit():
    """Of time, where a limit stopped it there: half as long again, since this machine may be slower."""
    return max(20, round(1.5 * (RECORDED["seconds"] or 0))) if RECORDED["ended"] in AT_A_LIMIT else None


AT_A_LIMIT = ("timed_out", "out_of_memory")


def same_beginning(one, other):
    """Of what was stopped anywhere, one may have come further."""
    return one.startswith(other) or other.startswith(one)


def missing(stderr):
    """The package that is not there, unless it was missing there as well."""
    lines = [re.match(r"ModuleNotFoundError: No module named '([^']+)'", line) for line in stderr.splitlines()]
    names = [line.group(1).split(".")[0] for line in lines if line]
    return names[-1] if names and not RECORDED["exception"].startswith("ModuleNotFoundError") else None


def last_line(text):
    lines = [line for line in text.splitlines() if re.match(r"[A-Za-z_][\w.]*(: |$)", line)]
    return lines[-1] if lines else ""


def steady(text):
    return re.sub(r"0x[0-9a-fA-F]{6,}", "0x", text)


def main():
    print("Target:   ", TARGET)
    print("Recorded: ", ADDRESS)
    for name in sorted(VARIABLES):
        print("Sets:     ", name + "=" + VARIABLES[name])
    for name in sorted(SETTINGS):
        print("Sets:     ", name, SETTINGS[name])
    here = found_facts()
    for name in sorted(FACTS):
        mine = here.get(name)
        mark = "" if mine is None or mine == FACTS[name] else "   <- other here: " + mine
        print("There:    ", name, "=", FACTS[name] + mark)
    if RECORDED["ended"] == "out_of_memory":
        print("Memory:    there it ran out of memory at a limit; here it may take all that you have")
    if limit():
        print("Stopped:   there after", round(RECORDED["seconds"] or 0), "seconds; here it will be after", limit())
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        status, stdout, stderr = run_it(folder)
    stdout = stdout.decode("utf-8", "replace").replace("\r\n", "\n")
    stderr = stderr.decode("utf-8", "replace")
    print()
    sys.stdout.write(stdout)
    sys.stdout.flush()
    sys.stderr.write(stderr)
    sys.stderr.flush()
    print()
    absent = missing(stderr) if status else None
    if absent:
        version = PACKAGES.get(absent) or FACTS.get("torch.version" if absent == "torch" else "package." + absent, "").split("+")[0]
        wanted = absent + ("==" + version if version else "")
        print(absent, "is missing here: install", wanted, "(or use `uv run repeat.py`), and run it again")
        return 2
    same_end = True
    if RECORDED["ended"] == "out_of_memory":
        same_end = status is not None and (status < 0 or "MemoryError" in stderr or "out of memory" in stderr)
        print("Ran out of memory there;", "here, too" if same_end else "here it did not, by the time it ended or was stopped")
    elif RECORDED["ended"] == "timed_out":
        same_end = status is None
        mine = "stopped here, too" if same_end else "ended here by itself"
        print("Stopped there after", round(RECORDED["seconds"] or 0), "seconds;", mine)
    elif RECORDED["signal"]:
        same_end = status < 0
        print("Ended there by", RECORDED["signal"] + "; here with status", status)
    elif RECORDED["exit_status"] is not None:
        same_end = status == RECORDED["exit_status"]
        print("Exit status there:", RECORDED["exit_status"], " here:", status)
    else:
        print("Ended there:", RECORDED["ended"] or "not known", " here with status", status)
    same_error = True
    if RECORDED["exception"] and RECORDED["ended"] != "out_of_memory":
        same_error = steady(RECORDED["exception"].split("\n")[0]) in steady(stderr)
        print("Error there:", RECORDED["exception"].split("\n")[0])
    if RECORDED["exception"] or status:
        print("Error here: ", last_line(stderr) or "none")
    if RECORDED["stdout"] is not None:
        same = same_beginning if RECORDED["ended"] in AT_A_LIMIT else str.__eq__
        same_text = same(steady(stdout), steady(RECORDED["stdout"]))
        if not same_text:
            there, mine = RECORDED["stdout"].splitlines(), stdout.splitlines()
            print("Printed something else:")
            for line in list(difflib.unified_diff(there, mine, "there", "here", lineterm="", n=1))[:60]:
                print("   ", line)
    else:
        digest = "sha256:" + hashlib.sha256(stdout.encode("utf-8", "surrogatepass")).hexdigest()
        same_text = digest[7:] == RECORDED["stdout_digest"].replace("sha256:", "")
        print("Digest of what was printed there:", RECORDED["stdout_digest"], " here:", digest)
    same = same_end and same_error and same_text
    where = "in this run" if RECORDED["matched"] else "here"
    print("The same", where + ":", "yes" if same else "no")
    if RECORDED["matched"]:
        print("It was seen in", RECORDED["matched"], "of", RECORDED["of"], "attempts there, so one run says little: run this several times")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
'''
