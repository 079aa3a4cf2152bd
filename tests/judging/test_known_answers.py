"""The best answer of earlier runs beside that of the newest one, and lists that agree with both."""

from __future__ import annotations

from itertools import product

import pytest
from test_answers import REGRESSED, cell, run

from app.judging.cause.defect import CAUSES, defect_of
from app.judging.judgement import SIGHTINGS, Defect, Verdict
from app.judging.report.attention import Attention, VersionRow, attention_of
from app.judging.report.change import ChangeKind
from app.judging.report.owner import Owner
from app.runs.run_object.answer.flips import Flip
from app.runs.run_object.answer.known_answer import known_answer, leaves_open
from app.runs.run_object.answer.part import AnswerPart
from app.runs.run_object.answer.sentences import answer_of
from app.runs.run_object.document import RunDocument
from app.runs.run_object.removal_part import RemovalPart

R, F, N, D = Verdict.REPRODUCED, Verdict.FLAKY, Verdict.NOT_REPRODUCED, Verdict.DIFFERENT
RAN = (R, F, D, N, Verdict.CANNOT_SHOW, Verdict.OBSERVED, Verdict.NO_RESULT)
WARNED = RemovalPart(package="numpy", older="2.3.5", newer="2.4.0", category="DeprecationWarning")
FLIP = Flip(ChangeKind.REGRESSED, "numpy", "2.3.5", "2.4.0", REGRESSED[1], REGRESSED[0])


def one(verdict: Verdict, cause: str | None, removal: RemovalPart | None = None) -> RunDocument:
    documented = cause == "nondeterministic_kernel"
    return run(
        cell("2.4.0", verdict, 3 if verdict in SIGHTINGS else 0, 3),
        cause=cause,
        defect=Defect.UNDECIDED if cause is None else defect_of(cause, documented=documented),
        removal=removal,
    )


def answer_with_known(newest: RunDocument, earlier: RunDocument | None, flip: Flip | None) -> AnswerPart:
    """As the report's page shows it."""
    answer = answer_of(newest, flip)
    if earlier is None or not leaves_open(newest, answer):
        return answer
    known = known_answer(newest, [earlier.model_copy(update={"id": "earlier"})], flip)
    return answer.model_copy(update={"known": known})


def whole_words(answer: AnswerPart) -> str:
    """What the page says of the standing owner."""
    known = answer.known
    return known.whose if answer.owner is Owner.NOBODY and known is not None else answer.whose


@pytest.mark.parametrize("verdict", RAN)
def test_no_list_calls_broken_what_the_page_calls_no_defect(verdict: Verdict) -> None:
    checked = 0
    for cause, removal, before, known_cause, flip in product(
        (None, *CAUSES),
        (None, WARNED),
        (None, R, F),
        (None, "rounding", "unseeded", "uninitialised_memory"),
        (None, FLIP),
    ):
        earlier = None if before is None else one(before, known_cause)
        answer = answer_with_known(one(verdict, cause, removal), earlier, flip)
        # The cell of the earlier run stands where the newest run did not judge the same one.
        newest = {R: [(R,)], F: [(F,)]}.get(verdict, [] if before is None else [(N, before)])
        owner = answer.standing_owner
        group = attention_of(verdict, None, [VersionRow(row) for row in newest], owner=owner)
        words = whole_words(answer)
        if group is Attention.STILL_BROKEN:
            assert "no defect" not in words, words
            assert not words.startswith(("The script's own", "Announced", "Rounding")), words
            assert owner in {Owner.DEFECT, Owner.OPEN, Owner.NOBODY}
        elif verdict in SIGHTINGS:
            assert not words.startswith(("Open", "A defect")), words
        # A sighting in a list is one on the page, too: in its sentence, or as what is known.
        if newest and group is Attention.STILL_BROKEN and verdict not in SIGHTINGS:
            assert answer.known is not None
            assert answer.known.words.startswith("An earlier run measured: ")
        checked += 1
    assert checked > 900


def test_the_known_answer_says_what_was_measured_on_which_version() -> None:
    earlier = one(R, "rounding").model_copy(update={"id": "earlier"})
    known = known_answer(one(D, None), [earlier])
    assert known is not None
    assert (known.run, known.owner) == ("earlier", Owner.ROUNDING)
    assert known.where == "Seen on AMD EPYC 9B14 with numpy 2.4.0."
    assert known.words == (
        "An earlier run measured: It happens, as reported. Seen on AMD EPYC 9B14 with numpy 2.4.0."
        " 3 of 3 attempts. If it only happens sometimes, then in at least 27 % of attempts. Rounding, no"
        " defect. Every operation is as exact as its type allows. The difference is rounding."
    )


def test_a_decided_answer_goes_before_a_newer_open_one() -> None:
    newer, older = (
        one(R, cause).model_copy(update={"id": name}) for name, cause in (("b", None), ("a", "rounding"))
    )
    known = known_answer(one(D, None), [newer, older])
    assert known is not None
    assert known.run == "a"
    only_open = known_answer(one(D, None), [newer])
    assert only_open is not None
    assert only_open.owner is Owner.OPEN
    # An open answer adds nothing to a newest run that saw the claim, too.
    assert known_answer(one(R, None), [newer]) is None


def test_an_overruled_or_contributed_run_is_not_known() -> None:
    earlier = one(R, "rounding").model_copy(update={"id": "a"})
    for field, value in (("overruled", True), ("contributed", True)):
        assert known_answer(one(D, None), [earlier.model_copy(update={field: value})]) is None


def test_a_fix_is_an_answer_by_itself() -> None:
    fixed = Flip(ChangeKind.FIXED, "numpy", "2.3.5", "2.4.0", REGRESSED[0], REGRESSED[1])
    newest = one(N, None)
    assert not leaves_open(newest, answer_of(newest, fixed))
    assert leaves_open(newest, answer_of(newest))


def test_what_was_seen_instead_is_named_if_a_test_explains_it() -> None:
    answer = answer_of(one(D, "ill_conditioned"))
    assert answer.owner is Owner.ROUNDING
    assert answer.whose == (
        "The claim was not seen. The difference that was seen is rounding, no defect. The inputs"
        " amplify a difference that is only rounding. Neither side is more correct than the other."
    )
    assert answer_of(one(Verdict.OBSERVED, "random_streams")).whose.startswith(
        "The report claims nothing that can be checked. The difference that was seen is the script's own."
    )
    assert answer_of(one(D, None)).owner is Owner.NOBODY
