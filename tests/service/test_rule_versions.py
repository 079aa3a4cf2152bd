"""The results of recorded runs may change only together with a version number of `app/judging/versions.py`.

`rule_versions.json` holds digests of the results and the versions that made them. To store new digests, raise
the versions that the failure names, then run `STORE_DIGESTS=1 pytest tests/service/test_rule_versions.py`.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.intake.read import read
from app.intake.reading import Reading
from app.judging import versions
from app.limits import NO_READ_LIMITS
from app.runs.exchange.bundle import Bundle
from app.runs.exchange.read_bundle import NO_LIMITS, read_bundle
from app.runs.rows.search_index import cells_of_job
from app.runs.run_object.assemble import judge
from app.runs.run_object.comparison_parts import content_of
from app.runs.run_object.facts import AttemptFacts, JobFacts, RunFacts
from app.runs.run_object.storable import json_digest, to_storable
from app.search.tokens import tokens
from app.targets.planning.plan import RepeatPlan

BUNDLES = Path(__file__).parents[1] / "recordings" / "bundles"
STORED = Path(__file__).with_name("rule_versions.json")
STORE = "STORE_DIGESTS"
# For each result the versions of which at least one must be raised when it changes.
VERSIONS = {
    "verdicts": ("JUDGING_RULES",),
    "comparisons": ("COMPARISON_RULES",),
    "index": ("INDEX_RULES",),
    "document": ("DOCUMENT_VERSION", "JUDGING_RULES", "COMPARISON_RULES"),
}


def facts_of(bundle: Bundle) -> tuple[RunFacts, list[JobFacts]]:
    plan = RepeatPlan(at_most=bundle.run.plan.at_most, exact=bundle.run.plan.exact)
    run = RunFacts(
        id=bundle.run.id,
        state=bundle.run.state,
        created_at=bundle.run.created_at,
        finished_at=bundle.run.finished_at,
        preset=bundle.run.plan.preset,
        repeats=plan,
    )
    jobs = [
        JobFacts(
            id=job.id,
            script=job.script,
            target=job.target,
            state=job.state,
            reason=job.reason,
            attempts=tuple(
                AttemptFacts(
                    id=attempt.id,
                    kind=attempt.kind,
                    start=attempt.start,
                    state=attempt.state,
                    counted=attempt.counted,
                    result=attempt.result,
                )
                for attempt in job.attempts
            ),
        )
        for job in bundle.jobs
    ]
    return run, jobs


def digest(value: Any) -> str:
    return json_digest(to_storable(value))


def digests_of(path: Path) -> dict[str, str]:
    bundle = read_bundle(path.read_bytes(), limits=NO_LIMITS)
    submitted = bundle.report
    reading: Reading = read(
        submitted.text,
        limits=NO_READ_LIMITS,
        form=submitted.form,
        claim=submitted.claim,
        title=submitted.title,
    )
    run, jobs = facts_of(bundle)
    judged = judge(run, reading, jobs)
    document = judged.document
    cells = [
        cell
        for job in document.jobs
        if job.verdict is not None
        for cell in cells_of_job("report", job, document.environments)
    ]
    return {
        "reading": digest(reading.model_dump(mode="json")),
        "verdicts": digest([document.verdict, [job.verdict for job in document.jobs]]),
        "comparisons": digest([content_of(pair).model_dump(mode="json") for pair in judged.comparisons]),
        "index": digest([[cell, tokens(cell["output"])] for cell in cells]),
        "document": digest(document.model_dump(mode="json", by_alias=True)),
    }


@cache
def present() -> dict[str, Any]:
    """The present versions, and the digests of all recordings by name."""
    names = sorted({name for group in VERSIONS.values() for name in group})
    recordings = {
        f"{path.parent.name}/{path.name}": digests_of(path) for path in sorted(BUNDLES.glob("*/*.json"))
    }
    return {"versions": {name: getattr(versions, name) for name in names}, "recordings": recordings}


def stored() -> dict[str, Any]:
    return dict(json.loads(STORED.read_text())) if STORED.exists() else {"versions": {}, "recordings": {}}


def comparable() -> list[str]:
    """The recordings whose report is read as before: with another reading all results may differ."""
    before, after = stored()["recordings"], present()["recordings"]
    return [name for name in before if name in after and before[name]["reading"] == after[name]["reading"]]


def changed(kind: str) -> list[str]:
    before, after = stored()["recordings"], present()["recordings"]
    return [name for name in comparable() if before[name][kind] != after[name][kind]]


@pytest.mark.parametrize("kind", VERSIONS)
def test_a_result_changes_only_with_its_version(kind: str) -> None:
    names, before, after = VERSIONS[kind], stored()["versions"], present()["versions"]
    raised = any(after[name] > before.get(name, 0) for name in names)
    assert raised or not changed(kind), (
        f"The {kind} of recorded runs changed ({', '.join(changed(kind)[:3])}): raise {' or '.join(names)}"
        f" in app/judging/versions.py and rerun with {STORE}=1 to store the new digests."
    )


def test_the_stored_digests_are_those_of_the_present_versions() -> None:
    if os.environ.get(STORE):
        assert not [
            kind for kind in VERSIONS if changed(kind) and stored()["versions"] == present()["versions"]
        ]
        STORED.write_text(json.dumps(present(), indent=1, sort_keys=True) + "\n")
    assert stored()["versions"] == present()["versions"], f"Rerun with {STORE}=1 to store the new digests."
    assert len(comparable()) > len(present()["recordings"]) / 2, (
        f"Most reports are read in another way now: rerun with {STORE}=1 to store the new digests."
    )
