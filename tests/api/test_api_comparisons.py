"""Any two attempts side by side, over REST: made, kept, and refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from api.web_client import Web
from held_values import showing, tensor
from sqlalchemy import select, update
from stage import Stage, result, together

from app.ids import new_id
from app.judging.versions import COMPARISON_RULES
from app.runs.lookup.comparisons import compare_attempts
from app.storage.models import ComparisonRow
from app.storage.queries.runs import lock_attempt
from worker.contract import Outcome, ValueStatistics

SCRIPT = "import torch\nx = torch.ones(2)\nprint(x)\n"
TARGETS = [{"device": "cpu"}, {"device": "cpu", "settings": {"threads": 1}}]
PRINTED = "tensor([1., 2.])\n"
NEXT = 2.0000002384185791


def submit(web: Web, *, repeats: int = 1, script: str = SCRIPT) -> str:
    answer = web.client.post("/api/v1/runs", json={"script": script, "targets": TARGETS, "repeats": repeats})
    return str(answer.json()["id"])


def play(stage: Stage, observations: list[Any], **more: Any) -> list[str]:
    """Answer what is queued, in order; the ids of the attempts."""
    attempts = stage.dispatch()
    assert len(attempts) == len(observations)
    for attempt, seen in zip(attempts, observations, strict=True):
        stage.say(result(attempt, node="n", outcome=Outcome.COMPLETED, observation=seen, **more))
    return [attempt.attempt_id for attempt in attempts]


def rows(stage: Stage) -> list[ComparisonRow]:
    with stage.session() as session:
        return list(session.scalars(select(ComparisonRow)))


def compared(web: Web, baseline: str, candidate: str) -> dict[str, Any]:
    answer = web.client.get(f"/api/v1/comparisons/{baseline}-{candidate}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_run_that_finishes_keeps_its_comparisons(web: Web) -> None:
    run_id = submit(web)
    play(web.stage, [showing(PRINTED, tensor("x", 1.0, 2.0)), showing(PRINTED, tensor("x", 1.0, NEXT))])
    [part] = web.client.get(f"/api/v1/runs/{run_id}").json()["comparisons"]
    [row] = rows(web.stage)
    assert (row.baseline, row.candidate, row.result, row.rules) == (
        part["baseline"],
        part["candidate"],
        "different",
        COMPARISON_RULES,
    )
    whole = compared(web, part["baseline"], part["candidate"])
    assert whole["comparison"] == part
    assert (whole["run"], whole["same_script"], whole["stdout"]["result"]) == (run_id, True, "identical")
    assert whole["created_at"] == row.created_at.isoformat().replace("+00:00", "Z")
    [value] = whole["values"]
    assert (value["name"], value["differing"], value["first_differing"], value["greatest_ulp"]) == (
        "x",
        1,
        [1],
        1,
    )
    assert (value["passes_default"], value["baseline"], value["candidate"]) == (True, "2.0", repr(NEXT))
    assert [one["about"] for one in part["differences"]][:1] == ["value: x"]
    assert part["first_difference"]["about"] == "value: x"


def test_attempts_of_different_runs_are_compared_and_kept_when_asked_for(web: Web) -> None:
    ids = []
    for end in ("1.5", "2.5"):
        submit(web, script=f"print({end})\n")
        ids.append(play(web.stage, [showing(f"loss {end}\n"), showing(f"loss {end}\n")])[0])
    before = len(rows(web.stage))
    whole = compared(web, *ids)
    assert (whole["run"], whole["same_script"], whole["comparison"]["result"]) == (None, False, "different")
    assert "different scripts" in whole["cannot_say"][0]
    [line] = whole["stdout"]["rows"]
    assert line["numbers"] == [
        {"baseline": "1.5", "candidate": "2.5", "absolute": 1.0, "relative": 1.0 / 1.5}
    ]
    assert [piece["text"] for piece in line["candidate"] if piece["differs"]] == ["2.5"]
    assert len(rows(web.stage)) == before + 1
    assert compared(web, *ids) == whole
    assert compared(web, *ids[::-1])["stdout"]["rows"][0]["numbers"][0]["relative"] == 1.0 / 2.5


def test_what_older_rules_made_is_made_anew(web: Web) -> None:
    submit(web)
    ids = play(web.stage, [showing("a\n"), showing("b\n")])
    with web.stage.session() as session:
        session.execute(
            update(ComparisonRow).values(
                rules=COMPARISON_RULES - 1, content={"comparison": "of another time"}
            )
        )
    assert compared(web, *sorted(ids))["comparison"]["result"] == "different"
    pair = {tuple(sorted(ids))}
    assert {row.rules for row in rows(web.stage) if (row.baseline, row.candidate) in pair} == {
        COMPARISON_RULES
    }


def test_large_outputs_are_compared_when_somebody_asks(web: Web) -> None:
    submit(web)
    ids = play(web.stage, [showing("x" * 40_000), showing("y" * 40_000)])
    assert rows(web.stage) == []
    assert compared(web, *ids)["comparison"]["result"] == "different"
    assert len(rows(web.stage)) == 1


def test_an_attempt_with_itself(web: Web) -> None:
    submit(web)
    first, _ = play(web.stage, [showing(PRINTED, tensor("x", 1.0)), showing(PRINTED)])
    whole = compared(web, first, first)
    assert (whole["comparison"]["result"], whole["comparison"]["differences"]) == ("identical", [])


def test_durations_decide_nothing(web: Web) -> None:
    run_id = submit(web, repeats=2)
    seen = [
        showing(PRINTED, tensor("seconds", number, dtype="float"), tensor("x", 1.0))
        for number in (0.1, 0.2, 0.3, 0.4)
    ]
    play(web.stage, seen)
    document = web.client.get(f"/api/v1/runs/{run_id}").json()
    assert [job["varying_values"] for job in document["jobs"]] == [["seconds"], ["seconds"]]
    [across] = document["comparisons"]
    assert across["result"] == "equivalent"
    whole = compared(web, across["baseline"], across["candidate"])
    assert {value["name"]: value["varies"] for value in whole["values"]} == {"seconds": True, "x": False}
    assert any("do not count" in words for words in whole["cannot_say"])


def test_what_is_not_recorded_cannot_be_compared(web: Web) -> None:
    submit(web, repeats=2)
    first, second, *_ = web.stage.dispatch()
    web.stage.say(result(first, node="n", outcome=Outcome.COMPLETED, observation=showing("a\n")))
    answer = web.client.get(f"/api/v1/comparisons/{first.attempt_id}-{second.attempt_id}")
    assert (answer.status_code, answer.json()["code"]) == (409, "attempt_not_recorded")
    assert rows(web.stage) == []
    compared(web, first.attempt_id, first.attempt_id)
    assert rows(web.stage) == [], "its job still runs, so that what varies is not known yet"


@pytest.mark.parametrize(
    "bad", ["{one}", "{one}-{new}", "{new}-{one}", "{one}-{one}-{one}", "{one}-", "{one}–{one}", "x-y"]
)
def test_what_is_no_pair_of_attempts_is_not_found(web: Web, bad: str) -> None:
    submit(web)
    one, _ = play(web.stage, [showing("a\n"), showing("b\n")])
    answer = web.client.get(f"/api/v1/comparisons/{bad.format(one=one, new=new_id())}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_hostile_values_are_kept_and_served(web: Web) -> None:
    submit(web)
    evil = tensor("x", 1.0).model_copy(
        update={"name": "\x00" + "n" * 199, "shape": [0, 10**12], "data": "!", "dtype": "no"}
    )
    nan = tensor("y", 1.0).model_copy(
        update={"statistics": ValueStatistics(least=-1e308, mean=1e308), "data": ""}
    )
    ids = play(web.stage, [showing("a\x00\n", evil, nan), showing("b\x00\n", tensor("y", 2.0))])
    whole = compared(web, *ids)
    assert whole["comparison"]["result"] == "different"
    assert all(len(value["name"]) <= 200 for value in whole["values"])


def test_the_description_is_complete(web: Web) -> None:
    operation = web.client.get("/api/v1/openapi.json").json()["paths"]["/api/v1/comparisons/{comparison_id}"][
        "get"
    ]
    assert {"200", "401", "404", "409"} <= operation["responses"].keys()
    assert "{baseline}-{candidate}" in operation["parameters"][0]["description"]


def test_a_node_cannot_say_that_other_bytes_are_the_same(web: Web) -> None:
    submit(web)
    other = tensor("x", 2.0).model_copy(update={"digest": tensor("x", 1.0).digest})
    ids = play(web.stage, [showing(PRINTED, tensor("x", 1.0)), showing(PRINTED, other)])
    assert compared(web, *ids)["comparison"]["result"] == "different"
    kept = web.client.get(f"/api/v1/attempts/{ids[1]}").json()["observation"]["values"]
    assert kept[0]["digest"] == tensor("x", 2.0).digest


def test_many_who_ask_at_once_get_one_answer(web: Web) -> None:
    submit(web)
    first, second = play(web.stage, [showing("a\n"), showing("b\n")])

    def ask(baseline: str, candidate: str) -> str:
        with web.stage.session() as session:
            return str(compare_attempts(session, baseline, candidate).comparison.result)

    asked = [partial(ask, *pair) for pair in ((first, second), (second, first)) for _ in range(4)]
    assert together(*asked) == ["different"] * len(asked)
    assert len(rows(web.stage)) == 2


def test_who_only_looks_waits_for_nobody(web: Web) -> None:
    submit(web)
    first, second = play(web.stage, [showing("a\n"), showing("b\n")])
    before = len(rows(web.stage))
    with web.stage.session() as session:
        # A recorder at work on one of the two.
        assert lock_attempt(session, second) is not None
        assert compared(web, second, first)["comparison"]["result"] == "different"
        assert len(rows(web.stage)) == before
    compared(web, second, first)
    assert len(rows(web.stage)) == before + 1
