"""Bundles recorded on real cards are imported here and get the right verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from api.web_client import Web

RECORDINGS = Path(__file__).parents[1] / "recordings"
EXPECTED: dict[str, Any] = json.loads((RECORDINGS / "cases_expected.json").read_text())
CASES_WITH_A_CAUSE = sorted(
    name for name, case in EXPECTED.items() if not name.startswith("_") and case["cause"]
)
BUNDLES = sorted((RECORDINGS / "bundles").glob("*/*.json"))
# These need a trace and were recorded with one.
NEEDS_TRACE = {"ill_conditioned", "rounding", "unexplained"}


def give(web: Web, path: Path, **more: Any) -> dict[str, Any]:
    answer = web.client.post(
        "/api/v1/bundles", content=path.read_bytes(), headers={"Content-Type": "application/json"}, **more
    )
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def place(target: dict[str, Any]) -> str:
    """As the expectations name it: `cuda gpus=2`, `cuda cpu-isa=avx2`, `cuda deterministic`."""
    settings = {name: value for name, value in target["settings"].items() if name != "trace"}
    words = [
        "deterministic" if name == "deterministic" else f"{name}={value}" for name, value in settings.items()
    ]
    gpus = [f"gpus={target['gpus']}"] if target["gpus"] > 1 else []
    return " ".join([target["device"], *gpus, *words])


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recorded_run_is_judged_as_is_right(web: Web, path: Path) -> None:
    run = give(web, path)
    case = EXPECTED.get(path.stem.partition(".")[0])
    assert run["contributed"] is not None
    assert all(job["state"] == "judged" for job in run["jobs"])
    for attempt in [
        attempt for job in run["jobs"] if job["target"]["device"] == "cuda" for attempt in job["attempts"]
    ]:
        # An attempt that ends by a signal prints nothing more.
        assert attempt["devices_used"] or attempt["signal"], attempt
    if case is None:
        return
    # Three draws of a script that fails every other time may all be the same.
    judged = {place(job["target"]): job["verdict"] for job in run["jobs"] if path.stem != "sometimes.quick"}
    known = {where: verdict for where, verdict in judged.items() if where in case["accept"]}
    assert all(verdict in case["accept"][where] for where, verdict in known.items()), known
    traced = any(job["trace"] for job in run["jobs"])
    if case["cause"] and case["cause"] != "unseeded" and (traced or case["cause"] not in NEEDS_TRACE):
        assert run["cause"] == case["cause"]


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("training_loop", "rounding"),
        # The card was allowed to use TF32, and used all bits for this size.
        ("convolution_tf32", "rounding"),
        ("convolution_all_bits", "rounding"),
        ("reductions", "rounding"),
        ("sgd_drift", "rounding"),
    ],
)
def test_a_script_without_a_claim_is_explained_on_a_card(web: Web, name: str, cause: str) -> None:
    run = give(web, RECORDINGS / "bundles" / "h200-30" / f"{name}.explain.json")
    dossier = web.client.get(f"/api/v1/reports/{run['report']['id']}/explain").json()
    assert dossier["cause"] == cause
    assert dossier["defect"] in {"no", "undecided"}
    assert any(label.startswith("cuda@") for label in dossier["cells"])


def test_attention_in_half_precision_is_explained(web: Web) -> None:
    run = give(web, RECORDINGS / "bundles" / "h200-30-second" / "attention_half.explain.json")
    dossier = web.client.get(f"/api/v1/reports/{run['report']['id']}/explain").json()
    assert (dossier["cause"], dossier["defect"]) == ("rounding", "no")


@pytest.mark.parametrize("name", CASES_WITH_A_CAUSE)
def test_each_case_has_its_cause(web: Web, name: str) -> None:
    """All of them came at once, with two attempts a cell: a quick run adds the cells that show the cause."""
    run = give(web, RECORDINGS / "bundles" / "h200-30-second" / f"{name}.quick.json")
    assert run["cause"] == EXPECTED[name]["cause"]


def test_memory_that_nobody_wrote_is_found_without_a_claim(web: Web) -> None:
    run = give(web, RECORDINGS / "bundles" / "h200-30" / "empty_is_read.explain.json")
    dossier = web.client.get(f"/api/v1/reports/{run['report']['id']}/explain").json()
    assert (dossier["cause"], dossier["defect"]) == ("uninitialised_memory", "yes")


def test_report_001_with_its_trace(web: Web) -> None:
    """As it stands, by `samehere serve` on an H200: 54 seconds from its submission to its verdict."""
    run = give(web, RECORDINGS / "bundles" / "h200-30" / "report_001.device.json")
    assert (run["verdict"], run["cause"], run["defect"]) == ("different", "ill_conditioned", "no")
    dossier = web.client.get(f"/api/v1/reports/{run['report']['id']}/explain").json()
    assert (dossier["cause"], dossier["defect"]) == ("ill_conditioned", "no")


def test_two_cards_are_needed_and_two_do(web: Web) -> None:
    run = give(web, RECORDINGS / "bundles" / "h200-x2" / "two_gpus.two.json")
    found = {
        job["target"]["gpus"]: (job["verdict"], job["reason"] and job["reason"]["code"])
        for job in run["jobs"]
    }
    assert found == {1: ("cannot_show", "too_few_gpus"), 2: ("reproduced", None)}
    two = next(job for job in run["jobs"] if job["target"]["gpus"] == 2)
    attempt = web.client.get(f"/api/v1/attempts/{two['attempts'][0]['id']}").json()["observation"]
    # The ranks are children, in which nothing of ours reports: the driver saw them.
    assert attempt["devices_computed"] == ["cuda:0", "cuda:1"]


def observations(web: Web, job: dict[str, Any]) -> list[dict[str, Any]]:
    """The observations of a cell's counted attempts."""
    return [
        web.client.get(f"/api/v1/attempts/{attempt['id']}").json()["observation"]
        for attempt in job["attempts"]
        if attempt["kind"] == "repeat"
    ]


def test_the_distributed_script_of_the_seed_article(web: Web) -> None:
    """The article as it stands. Its two ranks give equal losses each time, in lines of either order."""
    run = give(web, RECORDINGS / "bundles" / "h200-x2" / "seed_article.two.json")
    digest = run["report"]["scripts"][-1]["digest"]
    third = {job["target"]["gpus"]: job for job in run["jobs"] if job["script"] == digest}
    assert (third[1]["verdict"], third[1]["reason"]["code"]) == ("cannot_show", "too_few_gpus")
    seen = observations(web, third[2])
    assert {tuple(each["devices_computed"]) for each in seen} == {("cuda:0", "cuda:1")}
    assert {tuple(card["index"] for card in each["cards"]) for each in seen} == {(0, 1)}
    assert len({each["stdout"] for each in seen}) == 2
    assert len({tuple(sorted(each["stdout"].splitlines())) for each in seen}) == 1
    # The claim that repeats differ is not met.
    assert third[2]["verdict"] not in {"reproduced", "flaky"}


def test_two_attempts_at_once_on_two_cards(web: Web) -> None:
    """Each saw one card, as number 0; the evidence names the card, and both computed the same."""
    found = []
    for name in ("at_once_first", "at_once_second"):
        run = give(web, RECORDINGS / "bundles" / "h200-x2" / f"{name}.one.json")
        (observation,) = observations(web, run["jobs"][0])
        (card,) = observation["cards"]
        assert f"/dev/nvidia{card['index']}" in observation["devices_opened"]
        assert f"/dev/nvidia{1 - card['index']}" not in observation["devices_opened"]
        assert observation["devices_computed"] == ["cuda:0"]
        environments = [each for each in run["environments"].values() if "gpu.count" in each]
        assert {each["gpu.count"] for each in environments} == {1}
        found.append((card["index"], *observation["stdout"].splitlines()))
    (first, *shown), (second, *other) = found
    assert {first, second} == {0, 1}
    # The same numbers, on cards of other serial numbers.
    assert shown[:2] == other[:2]
    assert shown[0] == "1 0 NVIDIA H200"
    assert shown[2] != other[2]


def test_the_number_that_a_script_asks_for(web: Web) -> None:
    """`CUDA_VISIBLE_DEVICES = "1"` in the script, and one card granted: card 0 once, card 1 once."""
    run = give(web, RECORDINGS / "bundles" / "h200-x2" / "visible_card.own.json")
    seen = observations(web, run["jobs"][0])
    assert sorted(card["index"] for each in seen for card in each["cards"]) == [0, 1]
    assert {each["stdout"].splitlines()[0] for each in seen} == {"1 0 NVIDIA H200"}
    assert len({each["stdout"] for each in seen}) == 1


def test_cells_that_differ_in_the_card_only(web: Web) -> None:
    run = give(web, RECORDINGS / "bundles" / "h200-x2" / "equal_cards.kinds.json")
    seen = {job["target"].get("capability"): observations(web, job) for job in run["jobs"]}
    assert set(seen) == {None, "sm90"}
    for each in seen.values():
        assert {card["index"] for observation in each for card in observation["cards"]} == {0, 1}
    assert len({observation["stdout"] for each in seen.values() for observation in each}) == 1


def test_atomics_vary_and_do_not_when_they_are_not_used(web: Web) -> None:
    run = give(web, RECORDINGS / "bundles" / "h200-x2" / "index_add_atomics.determinism.json")
    found = {place(job["target"]): job["verdict"] for job in run["jobs"]}
    assert (found["cuda"], found["cuda deterministic"]) == ("reproduced", "not_reproduced")
    assert (run["cause"], run["defect"]) == ("nondeterministic_kernel", "no")


def test_memory_that_nobody_wrote_is_not_cleared_by_determinism(web: Web) -> None:
    run = give(web, RECORDINGS / "bundles" / "h200-x2" / "uninitialised_read.determinism.json")
    found = {place(job["target"]): job["verdict"] for job in run["jobs"]}
    assert found["cuda deterministic"] != "not_reproduced"
    assert (run["cause"], run["defect"]) == ("uninitialised_memory", "yes")


def test_report_001_as_it_stands(web: Web) -> None:
    run = give(web, RECORDINGS / "bundles" / "h200-x2" / "report_001.cpu-isa.json")
    found = {place(job["target"]): job["verdict"] for job in run["jobs"] if job["target"]["device"] == "cuda"}
    assert run["verdict"] == "reproduced"
    assert {where for where, verdict in found.items() if verdict == "reproduced"} == {
        "cuda cpu-isa=sse4.2",
        "cuda cpu-isa=compatible",
    }


def test_two_models_of_card_in_one_matrix(web: Web) -> None:
    bundles = RECORDINGS / "bundles"
    first = give(web, bundles / "h200" / "logdet_singular.quick.json", params={"by": "H200"})
    report = first["report"]["id"]
    second = give(
        web, bundles / "h100" / "logdet_singular.trace.json", params={"by": "H100", "report": report}
    )
    assert second["report"]["id"] == report
    cells = web.client.get(f"/api/v1/reports/{report}/matrix").json()["cells"]
    plain = {
        cell["contributed_by"]: cell["verdict"] for cell in cells if cell["label"] == "cuda@torch-2.11-cuda"
    }
    assert plain == {"H100": "different", "H200": "different"}
    assert (second["cause"], second["defect"]) == ("ill_conditioned", "no")
    printed = {
        next(attempt["stdout"] for job in run["jobs"] for attempt in job["attempts"] if attempt["stdout"])
        for run in (first, second)
    }
    models = {
        environment["gpu.0.model"]
        for run in (first, second)
        for environment in run["environments"].values()
        if "gpu.0.model" in environment
    }
    assert models == {"NVIDIA H200", "NVIDIA H100 80GB HBM3"}
    assert any("-108.34196472167969" in text for text in printed)


@pytest.mark.parametrize(
    ("name", "cause", "traced_on", "defect"),
    [
        ("report_001.cpu-isa", "ill_conditioned", ["cuda"], "no"),
        ("logdet_singular.device", "ill_conditioned", ["cuda"], "no"),
        ("sgd_drift.device", "rounding", ["cuda"], "no"),
        ("svd_sign.device", "sign_or_order", ["cuda"], "no"),
        ("wrong_kernel.device", "unexplained", ["cpu", "cuda"], "yes"),
    ],
)
def test_with_its_trace_the_whole_service_says_why(
    web: Web, name: str, cause: str, traced_on: list[str], defect: str
) -> None:
    run = give(web, RECORDINGS / "bundles" / "h200" / f"{name}.json")
    traced = [job for job in run["jobs"] if job["target"]["settings"].get("trace") == "on"]
    assert [job["target"]["device"] for job in traced] == traced_on
    assert all(job["trace"] for job in traced)
    assert (run["cause"], run["defect"]) == (cause, defect)
    # A wrong kernel that the script itself put in says nothing about torch.
    assert run["cause_source"] == ("aten::cos" if name == "wrong_kernel.device" else "")
    if cause == "unexplained":
        assert run["answer"]["owner"] == "script"
        assert run["answer"]["whose"].startswith("The script's own.")
        assert "not torch's own" in run["answer"]["whose"]
        page = web.client.get(f"/runs/{run['id']}").text
        assert 'class="verdict part"' in page
    if name == "report_001.cpu-isa":
        found = {
            place(job["target"]): job["verdict"]
            for job in run["jobs"]
            if job["target"]["device"] == "cuda" and job not in traced
        }
        assert {where for where, verdict in found.items() if verdict == "reproduced"} == {
            "cuda cpu-isa=sse4.2",
            "cuda cpu-isa=compatible",
        }
