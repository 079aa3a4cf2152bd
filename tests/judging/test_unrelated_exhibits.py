"""An exhibit that has nothing to do with a report never makes a "no" of what was none.

The reports are those of the bench, with their recorded attempts, whole as they were submitted.
"""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judging_builders import CPU, several

from app.intake.read import read
from app.intake.reading import Reading
from app.judging.check.reach import POINT_UNKNOWN, TOO_MANY_READINGS
from app.judging.judgement import JobJudgement, Verdict
from app.judging.verdict.job import judge_job
from app.limits import NO_READ_LIMITS
from bench.reading.material import Report, all_sets
from bench.reading.measure import NO_ATTEMPTS, outcome_of
from worker.contract import Result

SETS = {each.name: each for each in all_sets()}
REPORTS = [(name, file) for name, each in SETS.items() for file in sorted(each.right)]
# These say that what follows is about something else.
ELSEWHERE = (
    "In another project I once saw:",
    "With another script of mine it printed:",
    "Side note: the docs build prints",
    "Unrelated, but my notebook says:",
    "Somebody else reported:",
    "A colleague of mine got:",
    "In einem anderen Projekt kam:",
    "Dans un autre projet :",
    "在另一个项目里：",
)
# These say nothing, so it may be a claim. A report that has one keeps it.
SILENT = ("The size of the folder is:", "For reference:", "My log ends with:", "Also:", "I also see this:")
EXHIBITS = (
    "OSError: [Errno 28] No space left on device",
    "hello 991",
    "4242 kB",
    """Traceback (most recent call last):
  File "/srv/nightly.py", line 31, in <module>
    upload(path)
KeyError: 'zzz'""",
    "Segmentation fault (core dumped)",
    "UserWarning: theme is old",
    "[17.25, 18.5]",
    "True",
    "loss 0.125\nloss 0.0625",
    "nan",
    "AssertionError",
)


@cache
def text_of(where: tuple[str, str]) -> str:
    return (SETS[where[0]].folder / where[1]).read_text()


@cache
def reading_of(where: tuple[str, str]) -> Reading:
    return read(text_of(where), form="report", limits=NO_READ_LIMITS)


@cache
def attempts_of(name: str) -> dict[str, list[Result]]:
    return SETS[name].results()


def verdict_of(where: tuple[str, str], text: str, reading: Reading) -> str:
    """The verdict on a report; `no attempts` if another script would be run than the recorded one."""
    report = Report(*where, text, "", frozenset(), reading)
    return outcome_of(report, attempts_of(where[0])).verdict


def with_exhibit(text: str, words: str, exhibit: str, place: str) -> str:
    """The text with an exhibit `above` or `below` all else, or `inline` in a sentence below the title."""
    block = f"{words} `{exhibit}`" if place == "inline" else f"{words}\n\n```\n{exhibit}\n```"
    if place == "below":
        return f"{text}\n\n{block}\n"
    title, _, rest = text.partition("\n")
    return f"{title}\n\n{block}\n\n{rest}"


def verdict_with(where: tuple[str, str], words: str, exhibit: str, place: str) -> str:
    text = with_exhibit(text_of(where), words, exhibit, place)
    return verdict_of(where, text, read(text, form="report", limits=NO_READ_LIMITS))


@settings(max_examples=150)
@given(
    st.sampled_from(REPORTS),
    st.data(),
    st.sampled_from(EXHIBITS),
    st.sampled_from(["above", "below", "inline"]),
)
def test_an_unrelated_exhibit_never_makes_a_no(
    where: tuple[str, str], data: st.DataObject, exhibit: str, place: str
) -> None:
    reading = reading_of(where)
    words = data.draw(st.sampled_from(ELSEWHERE + (SILENT if reading.claim.checks else ())))
    assume(place != "inline" or "\n" not in exhibit)
    before = verdict_of(where, text_of(where), reading)
    assume(before not in {NO_ATTEMPTS, Verdict.NOT_REPRODUCED})
    assert verdict_with(where, words, exhibit, place) != Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("where", "words", "exhibit", "place"),
    [
        (("public_16", "06.md"), "For reference:", "Segmentation fault (core dumped)", "above"),
        (("public_18", "06.md"), "For reference:", "Segmentation fault (core dumped)", "above"),
        (("kinds", "output_marker-1.md"), "Also:", "OSError: [Errno 28] No space left on device", "below"),
        (
            ("kinds", "version_line_as_output-2.md"),
            "Side note: we had",
            "UserWarning: theme is old",
            "inline",
        ),
        (("kinds", "several_numbers-1.md"), "My log ends with:", "KeyError: 'zzz'", "below"),
        (("kinds", "echo_in_stderr-4.md"), "I also see this:", "Segmentation fault (core dumped)", "inline"),
        (("kinds", "two_sessions-1.md"), "I also see this:", "nan", "above"),
        (("kinds", "device_nobody_has-2.md"), "Also:", "AssertionError", "inline"),
    ],
)
def test_these_made_a_no_once(where: tuple[str, str], words: str, exhibit: str, place: str) -> None:
    assert verdict_of(where, text_of(where), reading_of(where)) != Verdict.NOT_REPRODUCED
    assert verdict_with(where, words, exhibit, place) not in {NO_ATTEMPTS, Verdict.NOT_REPRODUCED}


def test_what_stands_above_all_code_is_not_what_the_first_code_prints() -> None:
    where = ("public_4", "12.md")
    words, exhibit = "In another project I once saw:", "OSError: [Errno 28] No space left on device"
    assert verdict_with(where, words, exhibit, "above") == verdict_of(
        where, text_of(where), reading_of(where)
    )


def judgement_of(report: str, stdout: str = "done\n") -> JobJudgement:
    reading = read(report, form="report", limits=NO_READ_LIMITS)
    return judge_job(reading.claim, reading.scripts[0], CPU, several(3, stdout))


REPORT = (
    "# {title}\n\n```python\nimport numpy as np\nprint(np.median([1, 2]))\nprint('done')\n```\n\n{words}\n"
)


@pytest.mark.parametrize(
    ("title", "words", "reason"),
    [
        # Nothing of it is in the script, so that it does not come shows nothing.
        ("Loader breaks", "```\nValueError: bad magic number\n```", POINT_UNKNOWN),
        ("Loader breaks", "It does not raise ValueError.", POINT_UNKNOWN),
    ],
)
def test_a_failure_that_nothing_ties_to_the_script_is_not_judged(
    title: str, words: str, reason: object
) -> None:
    judgement = judgement_of(REPORT.format(title=title, words=words))
    assert (judgement.verdict, judgement.reason) == (Verdict.CANNOT_SHOW, reason)


@pytest.mark.parametrize("title", ["median raises for two numbers", "BUG: np.median([1, 2]) fails"])
def test_a_failure_is_tied_to_the_script_by_a_name(title: str) -> None:
    report = REPORT.format(title=title, words="```\nValueError: bad magic number\n```")
    assert judgement_of(report).verdict is Verdict.NOT_REPRODUCED


def test_a_claim_in_own_words_is_about_the_script() -> None:
    reading = read("print('done')\n", limits=NO_READ_LIMITS, claim="ValueError: bad magic number")
    judgement = judge_job(reading.claim, reading.scripts[0], CPU, several(3, "done\n"))
    assert judgement.verdict is Verdict.NOT_REPRODUCED


def test_more_readings_than_are_judged_leave_no_no() -> None:
    reading = read("print('done')\n", limits=NO_READ_LIMITS, claim="ValueError: bad magic number")
    crowded = reading.claim.model_copy(update={"has_more": True})
    judgement = judge_job(crowded, reading.scripts[0], CPU, several(3, "done\n"))
    assert (judgement.verdict, judgement.reason) == (Verdict.CANNOT_SHOW, TOO_MANY_READINGS)
