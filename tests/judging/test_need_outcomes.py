"""Each need of a script ends as exercised, substituted or unverified, in words that say with what or why."""

from __future__ import annotations

import pytest
from judging_builders import result

from app.intake.reading import Need, NeedKind
from app.judging.needs.status import NeedOutcome, outcomes_of_needs
from worker.contract import Outcome, Result

NUMPY, GPU = Need(kind=NeedKind.PACKAGE, name="numpy"), Need(kind=NeedKind.GPU)


def ran(devices: tuple[str, ...] = ("cpu",), outcome: Outcome = Outcome.COMPLETED, **fields: str) -> Result:
    environment = {"os.name": "Debian GNU/Linux 12", "package.numpy": "2.4.6"}
    environment |= {name.replace("__", "."): value for name, value in fields.items()}
    found = result("1\n")
    observation = found.observation.model_copy(update={"devices_used": devices})
    return found.model_copy(
        update={"environment": environment, "observation": observation, "outcome": outcome}
    )


def outcome_of(need: Need, *results: Result, **reported: str) -> tuple[str, str]:
    environment = {name.replace("__", "."): value for name, value in reported.items()}
    (found,) = outcomes_of_needs([need], [], results, environment)
    return found.status, found.by


@pytest.mark.parametrize(
    ("claimed", "status", "by"),
    [
        ("", "exercised", "2.4.6"),
        ("2.4.6", "exercised", "2.4.6"),
        ("2.4", "exercised", "2.4.6"),
        ("1.26.4", "substituted", "2.4.6 in place of 1.26.4"),
        # The scope of a verdict asks for the release, too.
        ("2.4.1", "exercised", "2.4.6"),
        ("2.40.6", "substituted", "2.4.6 in place of 2.40.6"),
    ],
)
def test_another_version_is_a_substitute(claimed: str, status: str, by: str) -> None:
    assert outcome_of(NUMPY, ran(), package__numpy=claimed) == (status, by)


def test_one_cell_with_the_reported_version_is_enough() -> None:
    old = ran(package__numpy="1.26.4")
    assert outcome_of(NUMPY, ran(), old, package__numpy="1.26.4") == ("exercised", "2.4.6, 1.26.4")
    sklearn = Need(kind=NeedKind.PACKAGE, name="scikit-learn")
    assert outcome_of(sklearn, ran(**{"package__scikit-learn": "1.9.1"})) == ("exercised", "1.9.1")
    assert outcome_of(sklearn, ran()) == ("unverified", "it was not installed")


def test_a_card_is_exercised_only_if_an_attempt_used_one() -> None:
    assert outcome_of(GPU, ran(gpu__0__model="H200")) == ("unverified", "no attempt used one")
    assert outcome_of(GPU, ran(), ran(("cpu", "cuda:0"), gpu__0__model="H200")) == ("exercised", "H200")
    mps = Need(kind=NeedKind.DEVICE, name="mps")
    assert outcome_of(mps, ran()) == ("unverified", "no attempt used one")
    assert outcome_of(mps, ran(("mps:0",)))[0] == "exercised"


@pytest.mark.parametrize(
    ("need", "results", "status", "why"),
    [
        (Need(kind=NeedKind.FILE, name="a.csv"), [ran()], "unverified", "the file is not in the report"),
        (Need(kind=NeedKind.NETWORK), [ran()], "unverified", "a script has no network here"),
        (Need(kind=NeedKind.ARGUMENTS), [ran()], "unverified", "it ran without arguments"),
        (Need(kind=NeedKind.INPUT), [], "unverified", "it ran without input"),
        (Need(kind=NeedKind.OS, name="Windows"), [ran()], "unverified", "it ran on Debian GNU/Linux 12"),
        (Need(kind=NeedKind.OS, name="Linux"), [ran()], "exercised", "Debian GNU/Linux 12"),
        (Need(kind=NeedKind.MEMORY, name="8 GiB"), [ran()], "exercised", ""),
        (
            Need(kind=NeedKind.MEMORY, name="8 GiB"),
            [ran(outcome=Outcome.OUT_OF_MEMORY)],
            "unverified",
            "no attempt had enough memory",
        ),
        (NUMPY, [], "unverified", "nothing ran"),
    ],
)
def test_what_a_run_can_not_have_is_unverified(
    need: Need, results: list[Result], status: str, why: str
) -> None:
    assert outcome_of(need, *results) == (status, why)


def test_each_need_ends_once_and_ignored_ones_are_unverified() -> None:
    file = Need(kind=NeedKind.FILE, name="a.csv", line=3)
    found = outcomes_of_needs([NUMPY, NUMPY.model_copy(update={"line": 7})], [file], [ran()], {})
    assert found == [
        NeedOutcome(kind=NeedKind.PACKAGE, name="numpy", status="exercised", by="2.4.6"),
        NeedOutcome(
            kind=NeedKind.FILE,
            name="a.csv",
            status="unverified",
            by="the submitter asked to run it without",
        ),
    ]
