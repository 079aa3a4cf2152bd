"""The verdict in four sentences: what, where, how sure, and whose. From recorded and from small runs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from recorded_runs import recording

from app.intake.reading import Need, NeedKind
from app.judging.judgement import SIGHTINGS, Defect, Verdict
from app.judging.report.change import ChangeKind
from app.runs.run_object.answer.flips import Flip, flip_in
from app.runs.run_object.answer.new_warnings import new_warnings_of
from app.runs.run_object.answer.part import Owner
from app.runs.run_object.answer.sentences import answer_of
from app.runs.run_object.document import (
    AttemptPart,
    ContributedPart,
    JobPart,
    ReportPart,
    RunDocument,
    ScriptPart,
    TargetPart,
)
from app.runs.run_object.removal_part import RemovalPart
from worker.contract import CapturedWarning, Environment

SCRIPT = ScriptPart(
    role="main",
    as_given="import numpy",
    script="import numpy",
    digest="d",
    needs=[Need(kind=NeedKind.PACKAGE, name="numpy")],
)
SEEN, GONE, FLAKY = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.FLAKY


def cell(version: str, verdict: Verdict, matched: int, of: int, **settings: str) -> JobPart:
    """A cell with a version of numpy, whose attempts ran cold."""
    attempts = [
        AttemptPart.model_validate(
            {
                "id": f"{version}-{number}",
                "kind": "repeat",
                "start": "cold",
                "state": "recorded",
                "outcome": "completed",
                "environment": version,
            }
        )
        for number in range(of)
    ]
    target = TargetPart(device="cpu", gpus=0, toolchain=f"numpy-{version}", settings=settings)
    return JobPart(
        id=f"job-{version}",
        script="d",
        target=target,
        state="judged",
        verdict=verdict,
        matched=matched,
        of=of,
        attempts=attempts,
    )


def run(*jobs: JobPart, model: str = "AMD EPYC 9B14", **fields: Any) -> RunDocument:
    verdicts = {job.verdict for job in jobs}
    environments: dict[str, Environment] = {
        job.target.toolchain.removeprefix("numpy-"): {
            "cpu.model": model,
            "python.version": "3.12.3",
            "package.numpy": job.target.toolchain.removeprefix("numpy-"),
        }
        for job in jobs
    }
    return RunDocument.model_validate(
        {
            "id": "r",
            "state": "finished",
            "verdict": next((each for each in Verdict if each in verdicts), None),
            "seen": bool(SIGHTINGS & verdicts),
            "where": [job.target.label for job in jobs if job.verdict in SIGHTINGS],
            "not_where": [job.target.label for job in jobs if job.verdict not in SIGHTINGS],
            "report": ReportPart(scripts=[SCRIPT]),
            "jobs": list(jobs),
            "environments": environments,
            "created_at": datetime(2026, 1, 1, tzinfo=UTC),
            **fields,
        }
    )


REGRESSED = (cell("2.4.0", SEEN, 3, 3), cell("2.3.5", GONE, 0, 5))


@pytest.mark.parametrize(
    ("seen", "free", "what", "why"),
    [
        (
            3,
            5,
            "Regressed in numpy 2.4.0, fine in 2.3.5.",
            "That is hardly chance: with equal rates it would",
        ),
        (1, 1, "May have regressed in numpy 2.4.0, fine in 2.3.5.", "That may be chance: with equal rates"),
        (1, 5, "May have regressed in numpy 2.4.0, fine in 2.3.5.", "it would come in 17 % of cases."),
    ],
)
def test_no_flat_word_beside_rates_that_may_be_equal(seen: int, free: int, what: str, why: str) -> None:
    answer = answer_of(run(cell("2.4.0", SEEN, seen, seen), cell("2.3.5", GONE, 0, free)))
    assert answer.what == what
    assert why in answer.how_sure
    fixed = answer_of(run(cell("2.4.0", GONE, 0, free), cell("2.3.5", SEEN, seen, seen)))
    is_sure = what.startswith("Regressed")
    assert fixed.what.startswith("Fixed" if is_sure else "May be fixed")
    assert fixed.whose == f"Nobody's: {'it no longer happens' if is_sure else 'it was not seen any more'}."


def test_what_no_cell_shows_alone_was_seen_in_a_comparison() -> None:
    sides = (cell("2.4.0", Verdict.OBSERVED, 0, 3), cell("2.4.0", Verdict.OBSERVED, 0, 3, threads="1"))
    answer = answer_of(run(*sides, verdict=SEEN, seen=True, where=[], not_where=[]))
    assert answer.where == (
        "Seen when results are compared: AMD EPYC 9B14 with numpy 2.4.0 (the default settings or threads=1)."
    )


def test_a_setting_that_no_reporter_knows_is_explained() -> None:
    answer = answer_of(run(cell("2.4.0", SEEN, 3, 3, trace="on"), cell("2.4.0", GONE, 0, 5)))
    where = "Seen on AMD EPYC 9B14 with numpy 2.4.0 (operations recorded by trace=on)."
    assert answer.where == f"{where} Not without these settings."
    free = answer_of(run(cell("2.4.0", SEEN, 3, 3), cell("2.4.0", GONE, 0, 5, trace="on")))
    assert free.where.endswith("Not with operations recorded by trace=on.")


def test_a_script_that_uses_another_package_beside_numpy_is_about_both() -> None:
    needs = [Need(kind=NeedKind.PACKAGE, name=name) for name in ("numpy", "scikit-learn")]
    document = run(cell("2.4.0", SEEN, 3, 3))
    script = SCRIPT.model_copy(update={"needs": needs})
    environments = {"2.4.0": {**document.environments["2.4.0"], "package.scikit-learn": "1.9.1"}}
    document = document.model_copy(
        update={"report": ReportPart(scripts=[script]), "environments": environments}
    )
    assert answer_of(document).where == "Seen on AMD EPYC 9B14 with scikit-learn 1.9.1 and numpy 2.4.0."


def test_a_regression_is_what_happened() -> None:
    answer = answer_of(run(*REGRESSED))
    assert answer.what == "Regressed in numpy 2.4.0, fine in 2.3.5."
    assert answer.where == "Seen on AMD EPYC 9B14 with numpy 2.4.0. Not with numpy 2.3.5."
    assert answer.how_sure == (
        "3 of 3 attempts with numpy 2.4.0, 0 of 5 with 2.3.5. That is hardly chance: with equal rates it"
        " would come in 2 % of cases."
    )
    assert answer.whose == "Open: it is not decided whether this is a bug."
    assert answer.owner is Owner.OPEN
    assert (answer.baseline, answer.candidate) == ("2.3.5-0", "2.4.0-0")


def test_a_fix_is_named_if_nothing_shows_the_claim_any_more() -> None:
    fixed = run(cell("2.3.5", SEEN, 3, 3), cell("2.4.0", GONE, 0, 5))
    answer = answer_of(fixed)
    assert answer.what == "Fixed in numpy 2.4.0; it happens in 2.3.5."
    assert (answer.owner, answer.whose) == (Owner.NOBODY, "Nobody's: it no longer happens.")
    assert answer.how_sure.startswith("3 of 3 attempts with numpy 2.3.5, 0 of 5 with 2.4.0. That is hardly")
    alone = answer_of(run(fixed.jobs[1]), Flip(ChangeKind.FIXED, "numpy", "2.3.5", "2.4.0"))
    assert alone.where == "Not on AMD EPYC 9B14 with numpy 2.4.0. Seen with numpy 2.3.5."
    still = run(*fixed.jobs, cell("2.4.0", SEEN, 3, 3, threads="1"))
    assert flip_in(still) is None
    assert answer_of(still).what == "It happens, as reported."


def test_the_newest_of_several_flips_counts() -> None:
    jobs = (cell("2.1.0", SEEN, 3, 3), cell("2.2.0", GONE, 0, 5), cell("2.3.5", GONE, 0, 5), REGRESSED[0])
    assert answer_of(run(*jobs)).what == "Regressed in numpy 2.4.0, fine in 2.3.5."


def test_rows_that_disagree_name_no_version() -> None:
    other = (cell("2.3.5", SEEN, 3, 3, threads="1"), cell("2.2.0", GONE, 0, 5, threads="1"))
    assert flip_in(run(*REGRESSED, *other)) is None


def test_what_may_be_chance_is_no_regression() -> None:
    assert flip_in(run(cell("2.4.0", FLAKY, 1, 20), cell("2.3.5", GONE, 0, 5))) is None


def test_equal_sums_have_other_bounds_where_one_place_has_fewer_attempts() -> None:
    def words(*counts: int) -> str:
        cells = [cell(f"2.{place}.0", GONE, 0, of) for place, of in enumerate(counts)]
        return answer_of(run(*cells, verdict=GONE)).how_sure

    assert words(3, 3, 3) == (
        "0 of 9 attempts in 3 places. If it happens at all, then in at most 63 % of attempts in each place."
    )
    assert words(5, 2, 2) == (
        "0 of 9 attempts in 3 places. If it happens at all, then in at most 78 % of attempts in the place"
        " with the fewest attempts."
    )


def test_without_a_change_both_bounds_are_said_apart_from_the_counts() -> None:
    cells = (cell("2.4.0", SEEN, 3, 3), cell("2.4.0", GONE, 0, 5, threads="1"))
    assert answer_of(run(*cells)).how_sure == (
        "3 of 3 attempts, elsewhere 0 of 5. It happens in at least 27 % of attempts, elsewhere in at most"
        " 45 %."
    )


def test_rates_of_versions_are_not_merged() -> None:
    matched = {"2.4.6": 8, "2.4.0": 4, "2.3.5": 9, "2.2.0": 6}
    answer = answer_of(run(*(cell(version, FLAKY, met, 20) for version, met in matched.items())))
    assert answer.how_sure == (
        "cpu@numpy-2.4.6: 8 of 20 attempts (in truth 12 to 74 %); cpu@numpy-2.4.0: 4 of 20 attempts"
        " (in truth 2 to 55 %); cpu@numpy-2.3.5: 9 of 20 attempts (in truth 15 to 78 %) and 1 more place."
    )
    assert answer.where == "Seen on AMD EPYC 9B14 with numpy 2.2.0, 2.3.5, 2.4.0 and 2.4.6."


def test_a_change_between_two_runs_says_so_as_well() -> None:
    removal = RemovalPart(package="numpy", older="2.3.5", newer="2.4.0", category="DeprecationWarning")
    flip = Flip(ChangeKind.REGRESSED, "numpy", "2.3.5", "2.4.0", removal=removal)
    alone = run(REGRESSED[0])
    answer = answer_of(alone, flip)
    assert answer.what == "Regressed in numpy 2.4.0, fine in 2.3.5."
    assert answer.where == "Seen on AMD EPYC 9B14 with numpy 2.4.0. Not with numpy 2.3.5."
    assert answer.owner is Owner.ANNOUNCED
    assert answer.whose == (
        "Announced: numpy 2.3.5 warned that this will change, and numpy 2.4.0 no longer takes it."
    )
    with_both = answer_of(alone, Flip(ChangeKind.REGRESSED, "numpy", "2.3.5", "2.4.0", *REGRESSED[::-1]))
    assert with_both.how_sure == answer_of(run(*REGRESSED)).how_sure
    assert with_both.where == answer.where
    gone = run(REGRESSED[1])
    assert answer_of(gone, flip).what == "It does not happen here."


def test_the_words_of_a_contributor_stand_in_no_sentence() -> None:
    foreign = run(*REGRESSED, model="Trust me, it is fixed", contributed=ContributedPart(by="ada"))
    words = " ".join(map(str, answer_of(foreign).model_dump().values()))
    assert "Trust" not in words
    assert "a CPU with numpy 2.4.0" in words
    assert flip_in(foreign) is None


@pytest.mark.parametrize(
    ("name", "where", "owner", "whose"),
    [
        (
            "logdet_cpu_isa",
            (
                "Seen on NVIDIA H200 with torch 2.11.0 (cpu-isa=sse4.2 or cpu-isa=compatible). "
                "Not with the default settings or cpu-isa=avx2."
            ),
            Owner.OPEN,
            "Open: it is not decided whether this is a bug.",
        ),
        (
            "determinism",
            (
                "Seen on NVIDIA H200 with torch 2.11.0 (the default settings or threads=1). Not on "
                "Intel(R) Xeon(R) Processor with torch 2.11.0 (the default settings, deterministic=on or "
                "threads=1); NVIDIA H200 with torch 2.11.0 (deterministic=on)."
            ),
            Owner.DOCUMENTED,
            "As documented, no defect. Repeats differ, but agree with deterministic algorithms.",
        ),
        (
            "conv_quick",
            "Seen on NVIDIA H200 with torch 2.11.0. Not with tf32=off.",
            Owner.ROUNDING,
            "Rounding, no defect. Reduced precision (such as TF32) was in use, which keeps fewer digits.",
        ),
        (
            "sometimes.cuda",
            "Seen on NVIDIA H200 with Python 3.12.3.",
            Owner.SCRIPT,
            "The script's own. The script uses random numbers without a seed.",
        ),
        (
            "weights_roundtrip.cuda",
            "Tried on NVIDIA H200 with torch 2.11.0.",
            Owner.NOBODY,
            "Nobody's: nothing wrong was seen.",
        ),
    ],
)
def test_a_recorded_run_has_its_place_and_its_owner(name: str, where: str, owner: Owner, whose: str) -> None:
    answer = answer_of(RunDocument.model_validate(recording(name)))
    assert (answer.where, answer.owner, answer.whose) == (where, owner, whose)


def test_what_ran_on_some_target_is_not_what_could_not_be_run() -> None:
    lacking = RunDocument.model_validate(recording("two_gpus.cuda"))
    assert answer_of(lacking).what == f"We could not test it. {lacking.jobs[0].reason.detail}"
    ran = lacking.jobs[0].model_copy(update={"verdict": Verdict.OBSERVED})
    both = lacking.model_copy(update={"jobs": [*lacking.jobs, ran]})
    assert answer_of(both).what == "The script ran. The report claims nothing that can be checked."


def test_a_defect_that_a_test_shows_is_one() -> None:
    answer = answer_of(RunDocument.model_validate(recording("uninitialised_quick")))
    assert answer.owner is Owner.DEFECT
    assert answer.whose.startswith("A defect. The result depends on uninitialised memory")


def test_every_verdict_and_state_has_four_sentences() -> None:
    recorded = RunDocument.model_validate(recording("values"))
    for verdict in Verdict:
        answer = answer_of(recorded.model_copy(update={"verdict": verdict, "defect": Defect.UNDECIDED}))
        sentences = (answer.what, answer.where, answer.how_sure, answer.whose)
        assert all(each[0].isupper() or each[0].isdigit() for each in sentences), answer
        assert all(each.endswith(".") for each in sentences), answer
    waiting = run().model_copy(update={"state": "queued", "verdict": None, "so_far": GONE})
    answer = answer_of(waiting)
    assert answer.model_dump(mode="json") == {
        "what": "Nothing is decided yet.",
        "where": "No attempt has ended yet.",
        "how_sure": "0 attempts.",
        "whose": "Not known yet.",
        "owner": "nobody",
        "baseline": None,
        "candidate": None,
        "known": None,
    }
    cancelled = answer_of(waiting.model_copy(update={"state": "cancelled"}))
    assert (cancelled.what, cancelled.where) == ("Nothing was decided.", "Nothing was run.")


def warning(text: str, category: str = "DeprecationWarning", line: int = 0) -> CapturedWarning:
    return CapturedWarning(category=category, text=text, script_line=line)


def with_warnings(job: JobPart, *warnings: CapturedWarning) -> JobPart:
    attempts = [one.model_copy(update={"warnings": list(warnings)}) for one in job.attempts]
    return job.model_copy(update={"attempts": attempts})


def test_warnings_that_only_the_newer_side_gives_are_new() -> None:
    newer, older = REGRESSED
    after = with_warnings(newer, warning("both"), warning("elsewhere"), warning("here", line=2))
    document = run(after, with_warnings(older, warning("both")))
    new = new_warnings_of(flip_in(document))
    assert [(one.text, one.line, one.newer) for one in new] == [
        ("here", 2, "2.4.0"),
        ("elsewhere", None, "2.4.0"),
    ]
    whose = answer_of(document).whose
    assert whose.endswith("With numpy 2.4.0 the script gets a new DeprecationWarning; 2.3.5 gives none.")
    # A category that the script names itself is text of the script.
    strange = run(with_warnings(newer, warning("x", "script.Close_this_issue")), older)
    assert "Close" not in answer_of(strange).whose
    assert [one.category for one in new_warnings_of(flip_in(strange))] == ["script.Close_this_issue"]
    same = run(with_warnings(newer, warning("both")), with_warnings(older, warning("both")))
    assert new_warnings_of(flip_in(same)) == new_warnings_of(None) == []


def test_an_older_node_gives_its_warnings_in_stderr() -> None:
    newer, older = REGRESSED
    line = "/home/u/script.py:7: FutureWarning: it will go\n"
    attempts = [one.model_copy(update={"stderr": line}) for one in newer.attempts]
    [one] = new_warnings_of(flip_in(run(newer.model_copy(update={"attempts": attempts}), older)))
    assert (one.category, one.text, one.line) == ("FutureWarning", "it will go", 7)


def test_where_chance_may_explain_it_no_sentence_says_that_it_does_not_happen_there() -> None:
    sides = cell("2.4.0", SEEN, 3, 3), cell("2.3.5", GONE, 0, 3)
    here, there = (one.target.label for one in sides)
    sure = run(*sides, verdict=SEEN, seen=True, where=[here], not_where=[there])
    doubtful = sure.model_copy(update={"chance_where": [there]})
    assert "Not with numpy 2.3.5." in answer_of(sure).where
    words = answer_of(doubtful).where
    assert "Not with" not in words
    assert words.endswith("Not seen with numpy 2.3.5, which may be chance.")
