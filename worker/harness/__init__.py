"""What runs inside the sandbox in the toolchain's own Python; here it is only text that the node hands over."""

from pathlib import Path

_HERE = Path(__file__).resolve().parent

HARNESS_PATH = "/run/samehere/harness.py"
ELEMENTS_PATH = "/run/samehere/elements.py"
VALUES_PATH = "/run/samehere/values.py"
TRACE_PATH = "/run/samehere/trace.py"
ROUNDING_CHECK_PATH = "/run/samehere/rounding_check.py"
HARNESS_CONFIG_PATH = "/run/samehere/harness.json"
# The sandbox puts the number of the report channel in this one's place.
REPORT_FD_PLACEHOLDER = "@REPORT_FD@"


def harness_sources() -> dict[str, bytes]:
    """The program that watches a script from within its own process, and what it loads in its time, by their paths inside."""
    names = {
        HARNESS_PATH: "watch.py",
        ELEMENTS_PATH: "elements.py",
        VALUES_PATH: "values.py",
        TRACE_PATH: "trace.py",
        ROUNDING_CHECK_PATH: "rounding_check.py",
    }
    return {path: (_HERE / name).read_bytes() for path, name in names.items()}


def paused_sources() -> dict[str, bytes]:
    """The program that waits for a script in the script's own interpreter, in the harness's place, and what it loads."""
    names = {
        HARNESS_PATH: "paused.py",
        "/run/samehere/hidden.py": "hidden.py",
        "/run/samehere/watch.py": "watch.py",
    }
    return {path: (_HERE / name).read_bytes() for path, name in names.items()}


def probe_source() -> bytes:
    """The program that records the environment in which a script would run."""
    return (_HERE / "probe.py").read_bytes()


def known_answer_source() -> bytes:
    """The program that shows whether the cards it is given compute rightly; its argument is how much of their memory to try, in bytes."""
    return (_HERE / "known_answer.py").read_bytes()


def reporter_sources() -> dict[str, str]:
    """The programs that `probe.py` is made of, by their names."""
    names = ("probe.py", "watch.py", "values.py", "elements.py", "scrub.py", "reported.py", "reporter.py")
    return {name: (_HERE / name).read_text(encoding="utf-8") for name in names}


def hook_source() -> str:
    """The module in a toolchain's site-packages that starts the harness, if there is one to start."""
    return (_HERE / "hook.py").read_text(encoding="utf-8")
