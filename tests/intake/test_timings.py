"""`%time` and `%timeit` of IPython: the statements run, their times are printed, a claim is made of them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from default_limits import read

from app.intake.claim.claims import CheckKind, Role
from app.intake.claim.slowness import seconds_of_magic
from app.intake.reading import Reading
from app.intake.sessions.timings import with_timings
from app.intake.snippets.scripts import make_script
from app.judging.output.durations import durations_of_sides


def printed_by(code: str, *, transcript: bool = False) -> list[str]:
    script = make_script(code, transcript=transcript)
    assert "timed_statement" in [repair.code for repair in script.repairs]
    done = subprocess.run([sys.executable, "-c", script.script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("code", "labels"),
    [
        ("%time x = sum(range(9))\nassert x == 36", ["wall time 1 of 1"]),
        ("%timeit x = sum(range(9))", ["best time 1 of 1"]),
        ("%timeit -n 3 -r 2 sum(range(9))  # 3 us", ["best time 1 of 1"]),
        ("%timeit -o -n3 a = 1; b = a", ["best time 1 of 1"]),
        ("%time for i in range(3): x = i\n%timeit x", ["wall time 1 of 2", "best time 2 of 2"]),
        ("for i in (1, 2):\n    %time sum(range(i))", ["wall time 1 of 1"] * 2),
        ("y = 1\n%%time\nx = y\n\nz = x\n# %%\nassert z == 1", ["wall time 1 of 1"]),
        ("%%timeit w = 4\na = w + 1\n\nb = a\n%%time\nx = 1", ["best time 1 of 2", "wall time 2 of 2"]),
        ("%matplotlib inline\n%prun f()\n%time x = 1", ["wall time 1 of 1"]),
    ],
)
def test_a_timed_statement_runs_and_its_time_is_printed(code: str, labels: list[str]) -> None:
    lines = printed_by(code)
    assert [line.partition(":")[0] for line in lines] == labels
    assert set(durations_of_sides("\n".join(lines), labels)) == set(labels)


@pytest.mark.parametrize(("code", "shown"), [("%time sum([4])", ["4"]), ("%time sum([4]);", [])])
def test_a_prompt_shows_the_value_of_a_timed_statement(code: str, shown: list[str]) -> None:
    assert printed_by(code, transcript=True)[1:] == shown


@pytest.mark.parametrize(
    "code",
    ["%time", "%timeit ", "%time f(", "%%time", "%%timeit\n\n", "x = '''\n%time f()\n'''", "%timer x"],
)
def test_what_holds_no_statement_is_not_timed(code: str) -> None:
    assert with_timings(code) == (code, ())


def test_each_statement_keeps_its_line() -> None:
    script = make_script("x = 1\n%time y = x\n%timeit y\nz = y\n").script.split("\n")
    assert (script[0], script[3]) == ("x = 1", "z = y")


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("Wall time: 8.45 s", 8.45),
        ("Wall time: 1min 3s", 63.0),
        ("Wall: 2h 1min", 7260.0),
        ("7.5 ms ± 22 µs per loop (mean ± std. dev. of 7 runs, 100 loops each)", 0.0075),
        ("100 loops, best of 3: 2.5 us per loop", 2.5e-6),
        ("# 1 loop, best of 5: 3.5 sec per loop", 3.5),
        ("It takes 5 s per loop", None),
        ("CPU times: user 4 s, sys: 12 ms, total: 4.1 s", None),
        ("Wall time is 5 s", None),
    ],
)
def test_the_times_that_ipython_prints_are_read(line: str, seconds: float | None) -> None:
    assert seconds_of_magic(line) == (None if seconds is None else pytest.approx(seconds))


def session(title: str, below: str = "") -> Reading:
    alike = "per loop (mean ± std. dev. of 7 runs, 100 loops each)"
    return read(
        f"# {title}\n\n```\nIn [4]: import numpy as np\n\nIn [5]: %timeit np.sort(np.ones(9))\n"
        f"2.5 ms ± 1 µs {alike}\n\nIn [6]: %time a = np.sort(np.ones(9, 'f'))\n"
        "CPU times: user 4 s, sys: 12 ms, total: 4.1 s\nWall time: 4.2 s\n\nIn [7]: %%time\n"
        "   ...: b = np.ones(9)\n   ...: \n   ...: b = np.sort(b)\n   ...: \n"
        "CPU times: user 20 ms, sys: 1 ms, total: 21 ms\n"
        f"Wall time: 21 ms\n```\n\n{below}\n"
    )


def test_the_slowest_of_timed_statements_is_the_claim() -> None:
    (check,) = session("Sorting of single precision is terribly slow").claim.having(Role.BUG)
    assert check.kind is CheckKind.SLOWER
    assert (check.sides, check.factor) == (("wall time 2 of 3", "wall time 3 of 3"), 200.0)


def test_times_alone_are_no_claim() -> None:
    claim = session("Sorting gives a wrong order", "It gives `[2, 1]`.").claim
    assert CheckKind.SLOWER not in {check.kind for check in claim.having(Role.BUG)}


def test_times_in_comments_are_read() -> None:
    reading = read(
        "# sum() of an array takes ages\n\n```python\nimport numpy as np\nx = np.ones(9)\n"
        "%timeit sum(x)  # 6 ms ± 1 µs per loop\n%timeit np.sum(x)\n# 3 µs ± 9 ns per loop\n```\n"
    )
    (check,) = reading.claim.having(Role.BUG)
    assert (check.sides, check.factor) == (("best time 1 of 2", "best time 2 of 2"), 2000.0)


def test_more_lines_than_a_person_times_stay_as_they_are() -> None:
    for lines, timed in ((200, True), (201, False)):
        code, repairs = with_timings("\n".join(["%time f(1)"] * lines))
        assert ("%time" not in code, bool(repairs)) == (timed, timed)
