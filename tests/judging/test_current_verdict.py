"""The current verdict of a report comes from our own runs, whatever is contributed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.judging.judgement import Verdict
from app.judging.report.current_verdict import RunVerdict, current_verdict

ENDED = [verdict for verdict in Verdict if verdict is not Verdict.NEEDS_INFO]
words = st.builds(
    RunVerdict,
    run=st.uuids().map(str),
    verdict=st.sampled_from(ENDED),
    contributed_by=st.sampled_from([None, "ada", "eve"]),
)


def run(verdict: Verdict, by: str | None = None) -> RunVerdict:
    return RunVerdict(run=f"{verdict}-{by}", verdict=verdict, contributed_by=by)


@given(st.lists(words, max_size=12))
def test_what_is_contributed_never_changes_what_stands(runs: list[RunVerdict]) -> None:
    found = current_verdict(runs)
    own = current_verdict([one for one in runs if one.contributed_by is None])
    assert (found.verdict, found.run) == (own.verdict, own.run)
    assert [word.run for word in found.contributed] == [
        one.run for one in runs if one.contributed_by is not None
    ]


def test_without_a_run_of_our_own_nothing_stands() -> None:
    found = current_verdict([run(Verdict.REPRODUCED, "ada"), run(Verdict.NOT_REPRODUCED, "eve")])
    assert (found.verdict, found.run) == (None, None)
    assert [(word.by, word.verdict, word.shown_here) for word in found.contributed] == [
        ("ada", Verdict.REPRODUCED, False),
        ("eve", Verdict.NOT_REPRODUCED, False),
    ]


def test_the_newest_run_of_our_own_stands_and_says_what_else_was_shown() -> None:
    runs = [
        run(Verdict.REPRODUCED, "ada"),
        run(Verdict.NOT_REPRODUCED),
        run(Verdict.CANNOT_SHOW, "ada"),
        run(Verdict.REPRODUCED),
    ]
    found = current_verdict(runs)
    assert found.verdict is Verdict.NOT_REPRODUCED
    assert [word.shown_here for word in found.contributed] == [True, False]


def test_a_bisection_replaces_only_what_it_contradicts() -> None:
    def stands(bisection: Verdict, *others: Verdict) -> str | None:
        newest = RunVerdict(run="bisection", verdict=bisection, is_bisection=True)
        return current_verdict([newest, *map(run, others)]).run

    seen, gone, cannot = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.CANNOT_SHOW
    assert stands(seen, seen, gone) == "reproduced-None"
    assert stands(Verdict.FLAKY, seen) == "reproduced-None"
    assert stands(cannot, seen) == stands(Verdict.NO_RESULT, seen) == "reproduced-None"
    assert stands(gone, seen) == stands(seen, gone) == "bisection"
    assert stands(seen, Verdict.NO_RESULT) == stands(seen) == stands(cannot) == "bisection"


def test_trouble_of_ours_takes_nothing_back() -> None:
    assert current_verdict([run(Verdict.NO_RESULT), run(Verdict.FLAKY)]).verdict is Verdict.FLAKY
    assert current_verdict([run(Verdict.NO_RESULT)]).verdict is Verdict.NO_RESULT
