"""`repeat.py`: one file that repeats an attempt in any Python and compares the result with the recorded one.

The file holds the unchanged script, the settings of the target and the recorded result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from worker.contract.target_settings import AppliedSettings, apply_settings
from worker.harness import fix_source

# The file holds at most this many characters of output; longer output is compared by its digest alone.
MOST_PRINTED = 16_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.!]{0,40}")
_PYTHON = re.compile(r"3\.[0-9]{1,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedAttempt:
    """A recorded attempt and its result. All fields but `target` hold text of strangers."""

    script: str
    # The label of the target, such as `cpu@torch-2.13-cpu:threads=1`.
    target: str
    # "cpu" or "cuda".
    device: str
    settings: Mapping[str, str] = field(default_factory=dict)
    hash_seed: str = ""
    # The version of Python.
    python: str = ""
    # The packages that the script imports, with their versions.
    packages: Mapping[str, str] = field(default_factory=dict)
    # Facts of the recorded environment that the program shows beside its own.
    facts: Mapping[str, str] = field(default_factory=dict)
    # The outcome.
    ended: str = ""
    # The wall time of the attempt.
    seconds: float | None = None
    # `matched` of `of` attempts showed the claim, if some did and some did not; else `matched` is 0.
    matched: int = 0
    of: int = 0
    exit_status: int | None = None
    signal: str = ""
    exception: str = ""
    stdout: str = ""
    stdout_digest: str = ""
    # True if `stdout` is all of the output.
    whole: bool = True
    # The page of the cell.
    address: str = ""


def repeat_program(attempt: RecordedAttempt) -> str:
    """The text of the file. Text of strangers stands in it only as ASCII string literals.

    Raises SettingError for an unknown setting.
    """
    applied = apply_settings(attempt.settings, cpu_isa=["avx2", "sse4.2", "compatible"])
    data = {
        "TARGET": attempt.target,
        "ADDRESS": attempt.address,
        "VARIABLES": _variables(attempt, applied),
        "SETTINGS": dict(sorted(applied.harness.items())),
        "FIX": fix_source() if {"fix", "seed"} & applied.harness.keys() else "",
        "RECORDED": {
            "ended": attempt.ended,
            "seconds": attempt.seconds,
            "matched": attempt.matched,
            "of": attempt.of,
            "exit_status": attempt.exit_status,
            "signal": attempt.signal,
            "exception": attempt.exception,
            "stdout": attempt.stdout if attempt.whole and len(attempt.stdout) <= MOST_PRINTED else None,
            "stdout_digest": attempt.stdout_digest,
        },
        "FACTS": dict(attempt.facts),
        "PACKAGES": {name: version.partition("+")[0] for name, version in attempt.packages.items()},
    }
    assignments = "\n".join(f"{name} = {_literal(value)}" for name, value in data.items())
    lines = "\n".join(f"    {line!a}" for line in attempt.script.splitlines(keepends=True)) or "    ''"
    return (
        f"{_HEAD}{_requirements(attempt)}{_IMPORTS}{assignments}\n"
        f"# The script, line by line, unchanged.\nSCRIPT = (\n{lines}\n)\n{_TAIL}"
    )


def _literal(value: object) -> str:
    if isinstance(value, dict):
        inside = "".join(f"    {str(key)!a}: {item!a},\n" for key, item in value.items())
        return f"{{\n{inside}}}" if inside else "{}"
    return ascii(value)


def _variables(attempt: RecordedAttempt, applied: AppliedSettings) -> dict[str, str]:
    variables = dict(applied.variables)
    if attempt.hash_seed.isdecimal():
        variables["PYTHONHASHSEED"] = attempt.hash_seed
    if attempt.device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = ""
    return dict(sorted(variables.items()))


def _requirements(attempt: RecordedAttempt) -> str:
    """The packages as `uv run` and `pipx run` read them (PEP 723), if name and version are well-formed.

    A local version such as `+cpu` is left out, since no package index has it.
    """
    public = {name: version.partition("+")[0] for name, version in attempt.packages.items()}
    pinned = [
        f"{name}=={version}"
        for name, version in sorted(public.items())
        if _NAME.fullmatch(name) and _VERSION.fullmatch(version)
    ]
    minor = ".".join(attempt.python.split(".")[:2])
    python = f'# requires-python = "=={minor}.*"\n' if _PYTHON.fullmatch(minor) else ""
    lines = "".join(f'#   "{requirement}",\n' for requirement in pinned)
    return f"# /// script\n{python}# dependencies = [\n{lines}# ]\n# ///\n" if pinned or python else ""


_HEAD = '''#!/usr/bin/env python3
"""Repeats one attempt that samehere recorded, in your own Python, and compares the results.

    python repeat.py         uses the packages that you have
    uv run repeat.py         uses the recorded packages, in an environment of its own

It runs the script below, unchanged, in a new process, with the environment variables and settings of the
target. There is no sandbox: read the script first. If the recorded attempt was stopped at a limit, this run
is stopped too.

Exit status: 0 if the result is the same, 1 if it differs, 2 if a package is missing.
"""
'''
_IMPORTS = """
import sys

if not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
    # The folder of this file may hold anything. None of it is imported here.
    del sys.path[:1]

import difflib
import hashlib
import os
import platform
import re
import signal
import subprocess
import tempfile

"""
_TAIL = r'''
PROLOGUE = """
import importlib, json, os, runpy, sys
settings = json.loads(os.environ.pop("REPEAT_SETTINGS"))
source, fix = os.environ.pop("REPEAT_FIX"), {"__name__": "repeat_fix"}
def import_now(name, action):
    try:
        importlib.import_module(name)
    except ImportError:
        return
    action()
if source:
    exec(source, fix)
    running = fix["start"](settings, import_now)
if settings.keys() - {"fix"} or settings["fix"] == "torch":
    import torch
if "deterministic" in settings or "fill" in settings:
    torch.use_deterministic_algorithms(True, warn_only="deterministic" not in settings)
    torch.utils.deterministic.fill_uninitialized_memory = settings.get("fill") == "nan"
if "tf32" in settings:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = settings["tf32"] == "on"
if source and "torch" in sys.modules:
    fix["after_torch"](running, torch)
sys.argv = [sys.argv[1]]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def read_facts():
    facts = {"python.version": platform.python_version()}
    try:
        from importlib.metadata import version
    except ImportError:
        return facts
    for name in FACTS:
        if name == "torch.version" or name.startswith("package."):
            try:
                facts[name] = version(name[8:] if name.startswith("package.") else "torch")
            except Exception:
                facts[name] = "not installed"
    return facts


def run_script(folder):
    path = os.path.join(folder, "script.py")
    with open(path, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
        file.write(SCRIPT)
    environment = dict(os.environ, **VARIABLES)
    command = [sys.executable, path]
    if SETTINGS:
        import json

        environment["REPEAT_SETTINGS"] = json.dumps(SETTINGS)
        environment["REPEAT_FIX"] = FIX
        command = [sys.executable, "-c", PROLOGUE, path]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": os.name == "posix"}
    if time_limit():
        # Output that is still in a buffer would be lost when the script is stopped.
        environment["PYTHONUNBUFFERED"] = "1"
    process = subprocess.Popen(command, cwd=folder, env=environment, **options)
    try:
        stdout, stderr = process.communicate(timeout=time_limit())
        return process.returncode, stdout, stderr
    except subprocess.TimeoutExpired:
        kill_group(process)
        stdout, stderr = process.communicate()
        return None, stdout, stderr
    except BaseException:
        kill_group(process)
        raise


def kill_group(process):
    """Kill the script and every process that it started."""
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        command = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
        subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.kill()


def time_limit():
    """Seconds, if the recorded attempt was stopped at a limit: half as long again, for a slower machine."""
    return max(20, round(1.5 * (RECORDED["seconds"] or 0))) if RECORDED["ended"] in AT_A_LIMIT else None


AT_A_LIMIT = ("timed_out", "out_of_memory")


def same_beginning(one, other):
    """If a run was stopped, the other one may have printed more."""
    return one.startswith(other) or other.startswith(one)


def missing_package(stderr):
    """The package that could not be imported here. None if it was missing in the recorded attempt too."""
    pattern = r"ModuleNotFoundError: No module named '([^']+)'"
    matches = [re.match(pattern, line) for line in stderr.splitlines()]
    names = [match.group(1).split(".")[0] for match in matches if match]
    return names[-1] if names and not RECORDED["exception"].startswith("ModuleNotFoundError") else None


def requirement(package):
    fact = "torch.version" if package == "torch" else "package." + package
    version = PACKAGES.get(package) or FACTS.get(fact, "").split("+")[0]
    return package + ("==" + version if version else "")


def last_error(text):
    lines = [line for line in text.splitlines() if re.match(r"[A-Za-z_][\w.]*(: |$)", line)]
    return lines[-1] if lines else ""


def without_addresses(text):
    """Addresses of memory differ in every run."""
    return re.sub(r"0x[0-9a-fA-F]{6,}", "0x", text)


def show_environment():
    print("Target:   ", TARGET)
    print("Page:     ", ADDRESS)
    for name in sorted(VARIABLES):
        print("Setting:  ", name + "=" + VARIABLES[name])
    for name in sorted(SETTINGS):
        print("Setting:  ", name + "=" + SETTINGS[name])
    facts = read_facts()
    for name in sorted(FACTS):
        here = facts.get(name)
        mark = "" if here is None or here == FACTS[name] else "   <- here: " + here
        print("Recorded: ", name, "=", FACTS[name] + mark)
    if RECORDED["ended"] == "out_of_memory":
        print("Memory:    the recorded attempt reached its memory limit; this run has no limit")
    if time_limit():
        seconds = round(RECORDED["seconds"] or 0)
        limit = time_limit()
        print("Time:      the recorded attempt took", seconds, "seconds; this run is stopped after", limit)


def compare_end(status, stderr):
    """Whether the script ended in the same way. `status` is None if it was stopped."""
    if RECORDED["ended"] == "out_of_memory":
        same = status is not None and (status < 0 or "MemoryError" in stderr or "out of memory" in stderr)
        print("Out of memory: the recorded attempt yes, this run", "yes" if same else "no")
    elif RECORDED["ended"] == "timed_out":
        same = status is None
        here = "was stopped too" if same else "ended by itself"
        seconds = round(RECORDED["seconds"] or 0)
        print("The recorded attempt was stopped after", seconds, "seconds; this run", here)
    elif RECORDED["signal"]:
        same = status < 0
        print("Ended by signal: recorded", RECORDED["signal"] + ", here", -status if same else "none")
    elif RECORDED["exit_status"] is not None:
        same = status == RECORDED["exit_status"]
        print("Exit status: recorded", str(RECORDED["exit_status"]) + ", here", status)
    else:
        same = True
        print("Outcome: recorded", (RECORDED["ended"] or "unknown") + ", here exit status", status)
    return same


def compare_error(status, stderr):
    same = True
    error = RECORDED["exception"].split("\n")[0]
    if error and RECORDED["ended"] != "out_of_memory":
        same = without_addresses(error) in without_addresses(stderr)
        print("Error recorded:", error)
    if RECORDED["exception"] or status:
        print("Error here:    ", last_error(stderr) or "none")
    return same


def compare_output(stdout):
    if RECORDED["stdout"] is None:
        digest = "sha256:" + hashlib.sha256(stdout.encode("utf-8", "surrogatepass")).hexdigest()
        print("Digest of the output: recorded", RECORDED["stdout_digest"] + ", here", digest)
        return digest[7:] == RECORDED["stdout_digest"].replace("sha256:", "")
    equal = same_beginning if RECORDED["ended"] in AT_A_LIMIT else str.__eq__
    same = equal(without_addresses(stdout), without_addresses(RECORDED["stdout"]))
    if not same:
        print("The output differs:")
        recorded, here = RECORDED["stdout"].splitlines(), stdout.splitlines()
        for line in list(difflib.unified_diff(recorded, here, "recorded", "here", lineterm="", n=1))[:60]:
            print("   ", line)
    return same


def main():
    show_environment()
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        status, stdout, stderr = run_script(folder)
    stdout = stdout.decode("utf-8", "replace").replace("\r\n", "\n")
    stderr = stderr.decode("utf-8", "replace")
    print()
    sys.stdout.write(stdout)
    sys.stdout.flush()
    sys.stderr.write(stderr)
    sys.stderr.flush()
    print()
    package = missing_package(stderr) if status else None
    if package:
        install = "Install " + requirement(package) + " (or use `uv run repeat.py`), and run this again."
        print(package, "is not installed here.", install)
        return 2
    parts = [compare_end(status, stderr), compare_error(status, stderr), compare_output(stdout)]
    where = "in this run" if RECORDED["matched"] else "here"
    print("The same result", where + ":", "yes" if all(parts) else "no")
    if RECORDED["matched"]:
        print("The recorded run shows it in", RECORDED["matched"], "of", RECORDED["of"], "attempts.")
        print("One run proves little: run this several times.")
    return 0 if all(parts) else 1


if __name__ == "__main__":
    sys.exit(main())
'''
