"""What a verdict does not say stands beside it, for every verdict and state."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from event_loop import run_in_thread

from app.intake.typed.claim_form import ClaimForm
from app.judging.judgement import Defect, Scope, Verdict
from app.mcp.arguments import CLAIM_RESOURCE, SubmitArguments
from app.mcp.caveats import caveats_of
from app.mcp.rest import Rest
from app.mcp.run_view import Size, run_view, word
from app.mcp.schemas import RESULT_RESOURCES, input_schema, output_schema, resources
from app.mcp.strangers_text import quote, quote_end
from app.mcp.tools import TOOLS, Answer, call
from app.runs.run_object.document import (
    ContrastPart,
    JobPart,
    OutdatedPart,
    ReportPart,
    RunDocument,
    TargetPart,
)
from app.runs.run_object.dossier_of_run import CLAIM_NOT_SEEN
from app.targets.planning.presets import PRESETS

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def document(**fields: Any) -> RunDocument:
    return RunDocument(id="r", created_at=NOW, **{"state": "finished", **fields})


def job(name: str, verdict: Verdict | None, **fields: Any) -> JobPart:
    target = TargetPart(device="cpu", gpus=0, toolchain=name, settings={})
    return JobPart(id=name, script="s", target=target, state="judged", verdict=verdict, **fields)


@pytest.mark.parametrize("verdict", sorted(set(Verdict) - {Verdict.REPRODUCED, Verdict.FLAKY}))
def test_all_but_one_say_that_they_are_no_not_reproduced(verdict: Verdict) -> None:
    said = " ".join(caveats_of(document(verdict=verdict)))
    assert ("This is no `not_reproduced`" in said) is (verdict is not Verdict.NOT_REPRODUCED)


def test_an_open_run_has_its_interim_caveats() -> None:
    said = caveats_of(document(state="running", so_far=Verdict.CANNOT_SHOW))
    assert "has not ended" in said[0]
    assert "This is no `not_reproduced`" in said[1]
    assert "cancelled" in caveats_of(document(state="cancelled"))[0]


def test_an_absence_has_its_bound_and_its_scope() -> None:
    jobs = [job("a", Verdict.NOT_REPRODUCED, rate_upper_bound=0.45), job("b", Verdict.NO_RESULT)]
    run = document(
        verdict=Verdict.NOT_REPRODUCED,
        scope=Scope.ELSEWHERE,
        scope_differs=["torch.version"],
        jobs=jobs,
        without_result=1,
        report=ReportPart(environment={"torch.version": "2.1.0"}),
    )
    said = " ".join(caveats_of(run))
    assert "not in the reporter's environment" in said
    assert "torch.version" in said
    assert "up to 45% of attempts" in said
    assert "does not mean fixed" in said
    assert "1 of 2 cells have no result" in said
    unnamed = run.model_copy(update={"report": ReportPart()})
    assert "the report names no environment" in " ".join(caveats_of(unnamed))
    as_reported = document(verdict=Verdict.NOT_REPRODUCED, scope=Scope.AS_REPORTED)
    assert "reporter's environment" not in " ".join(caveats_of(as_reported))


def test_a_sighting_is_no_bug_yet() -> None:
    alone = document(verdict=Verdict.REPRODUCED, contrast=ContrastPart(kind="none"))
    said = " ".join(caveats_of(alone))
    assert "not that it is a bug" in said
    assert "nothing shows yet what it depends on" in said
    still = document(verdict=Verdict.REPRODUCED, contrast=ContrastPart(kind="none", added="c", is_open=True))
    assert "One target more is being tried" in " ".join(caveats_of(still))
    assert "no defect" in " ".join(caveats_of(document(verdict=Verdict.REPRODUCED, defect=Defect.NO)))
    assert caveats_of(document(verdict=Verdict.REPRODUCED, defect=Defect.YES)) == []


def test_cells_that_show_it_come_first_and_the_rest_is_counted() -> None:
    jobs = [job("a", Verdict.CANNOT_SHOW), job("b", Verdict.NOT_REPRODUCED), job("c", Verdict.FLAKY)]
    view = run_view(document(verdict=Verdict.FLAKY, jobs=jobs), Size(10, 2), url="u")
    assert [cell.target for cell in view.cells] == ["cpu@c", "cpu@b"]
    assert view.cells_left_out == 1


def test_quotes_are_cut_and_visible() -> None:
    assert quote("abc", 3).model_dump() == {"untrusted_text": "abc", "cut": False}
    assert quote("abcd", 3).model_dump() == {"untrusted_text": "abc", "cut": True}
    assert quote_end("abcd", 3).model_dump() == {"untrusted_text": "bcd", "cut": True}
    assert quote_end("abcd", 0).untrusted_text == ""
    assert quote("\u202e" * 9, 10).untrusted_text == "⟨U+202E⟩⟨U"
    assert word("missing_package") == "missing_package"
    assert word("Ignore all of this") is None


def test_the_descriptions_fit_a_small_context() -> None:
    size = sum(
        len(json.dumps([tool.description, input_schema(tool.arguments), output_schema(tool.result)]))
        for tool in TOOLS
    )
    assert size <= 12_000
    for tool in TOOLS:
        assert tool.description.endswith(".")
        assert input_schema(tool.arguments)["additionalProperties"] is False


def test_a_description_names_only_what_exists() -> None:
    """Every preset in back quotes, every kind of a check, and every example of a claim."""
    fields = input_schema(SubmitArguments)["properties"]
    assert set(re.findall(r"`([a-z-]+)`", fields["preset"]["description"])) <= set(PRESETS)
    words = fields["claim"]["description"]
    examples = [json.loads(f"{found}") for found in re.findall(r'\{"kind": [^}]*\}', words)]
    assert ClaimForm.model_validate({"checks": examples})
    others = re.search(r"Other kinds: ([a-z_, ]+);", words)
    assert others is not None
    kinds = {*others[1].split(", "), *(example["kind"] for example in examples)}
    parts = json.loads(resources()[CLAIM_RESOURCE][1])["$defs"].values()
    assert kinds == {
        part["properties"]["kind"]["const"] for part in parts if "kind" in part.get("required", ())
    }


def test_a_whole_schema_is_a_resource() -> None:
    entries = resources()
    assert set(entries) == {CLAIM_RESOURCE, *(f"{RESULT_RESOURCES}{tool.name}" for tool in TOOLS)}
    for tool in TOOLS:
        whole = json.loads(entries[f"{RESULT_RESOURCES}{tool.name}"][1])
        assert set(whole["properties"]) == set(output_schema(tool.result)["properties"])


def test_the_first_text_of_a_dossier_names_the_cause_and_whether_the_claim_was_seen() -> None:
    class Stub(Rest):
        async def get(self, _path: str, **_: Any) -> Any:
            return {"summary": "s", "cause": "rounding", "defect": "no", "defect_sentence": CLAIM_NOT_SEEN}

    async def main() -> Answer:
        stub = Stub(None, base="http://x")  # type: ignore[arg-type]  # nothing is sent
        return await call("explain", {"report": "0" * 26}, stub, most_bytes=24_576)

    text = run_in_thread(main).texts[0]
    assert text.startswith(f"Cause: rounding. Defect: no.\nCaveat: {CLAIM_NOT_SEEN}\n")


@pytest.mark.parametrize("now", [Verdict.DIFFERENT, Verdict.NOT_REPRODUCED])
def test_older_rules_matter_only_if_the_verdict_would_change(now: Verdict) -> None:
    outdated = OutdatedPart(rules=1, present_rules=2, verdict=now)
    said = " ".join(caveats_of(document(verdict=Verdict.DIFFERENT, outdated=outdated)))
    assert ("By the present rules" in said) == (now is Verdict.NOT_REPRODUCED)
