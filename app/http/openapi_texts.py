"""Words for the OpenAPI document.

Each operation gets a summary, each parameter a description, and the fields of a run and its jobs say what
they mean. `docs/glossary.md` defines the words of verdicts.
"""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI

# Parameters that mean the same in every operation. Others have a description where they are declared.
PARAMETERS = {
    "run_id": "the id of a run",
    "report_id": "the id of a report",
    "job_id": "the id of a job, which is one cell of a run: `jobs[].id`",
    "attempt_id": "the id of an attempt: `jobs[].attempts[].id`",
    "bisection_id": "the id of a bisection",
    "quarantine_id": "the id of a quarantine",
    "webhook_id": "the id of a webhook",
    "delivery_id": "the id of a delivery, which is the header `webhook-id` of its event",
    "cursor": "`next` of the page before; without it, the first page",
    "limit": "the most items of one page",
    "source_url": "only reports that were submitted with this address of the original report",
    "subject_kind": "only acts on subjects of this kind",
    "Last-Event-ID": "the number of the last event that was received; those after it are sent again",
}
RUN_FIELDS = {
    "schema": "the version of this form; a change that breaks readers raises it",
    "id": "the id of the run; ids sort by time",
    "state": "where the run is; `finished` and `cancelled` are ends",
    "verdict": "the measured verdict; null until the run has finished",
    "so_far": "the verdict that the attempts so far would give; null once there is one, or before any",
    "seen": "whether any attempt showed the claimed behaviour",
    "defect": "whether what was seen is a bug; `undecided` if no test has settled it",
    "cause": "why results differ, as tests show it; null if nothing differs",
    "cause_source": "the source of variation that the cause is about, such as `numpy.random`; else empty",
    "cause_test": "the label of the target whose setting showed the cause; empty if no cell of its own did",
    "removal": "for `announced` and `api_removed`: what a newer version took away",
    "missing": "sentences that say why `defect` is undecided; empty if it is decided",
    "summary": "the answer in one sentence of ours; it holds no text of the report or the script",
    "scope": "for `not_reproduced`: whether version, device and system were those of the report",
    "scope_differs": "the fields of the report's environment that were not the same",
    "where": "labels of the targets on which it happens, sometimes or always",
    "not_where": "labels of the targets on which it does not happen",
    "contrast": "for `reproduced`: a place where the same check is not met, or `none`",
    "answer": "the verdict in four sentences of our own words, without text of the report or the script",
    "facets": "the verdict on each claim of a report that makes several; else empty",
    "newest": "the label of the target with the newest toolchain, among those that gave a result",
    "without_result": "the number of cells for which nothing that counts could be recorded",
    "ask": "what the reporter can be asked for, in sentences of ours",
    "preset": "the preset that chose the targets; null if they were named",
    "fixed": "digests from before the first attempt; null for contributed runs, bisections and older runs",
    "contributed": "who sent a run that ran elsewhere; null for a run of our own nodes",
    "overruled": "the verdict of a maintainer, if there is one; `verdict` stays the measured one",
    "acts": "acts of maintainers on this run, newest first",
    "held_back": "quarantined things that cells of an open run need",
    "rules": "the version of the rules that made the verdict",
    "outdated": "set if newer rules are in force: the verdict that they would give",
    "withdrawn_at": "set if the report was withdrawn; texts are then erased",
    "report": "the report, with its scripts and its claim: text of strangers",
    "jobs": "one job for each script and target, with its attempts",
    "comparisons": "comparisons between attempts of different cells",
    "environments": "recorded environments by digest; attempts name theirs",
    "estimate": "how long the run would take; only in a plan (`dry_run`)",
    "created_at": "when the run was submitted, in UTC",
    "finished_at": "when the run ended, in UTC; null until then",
}
JOB_FIELDS = {
    "id": "the id of the job, which is one cell of the run",
    "script": "the digest of the script: `report.scripts[].digest`",
    "target": "the device, toolchain and settings that were asked for",
    "state": "where the job is; `judged` and `cancelled` are ends",
    "verdict": "the verdict of this cell; null until it is judged",
    "reason": "why the verdict is so, with a stable code",
    "matched": "the number of counted attempts that show the claim",
    "of": "the number of counted attempts that could show it",
    "rate_upper_bound": "if none showed it: the largest share of attempts that would, at 95 %",
    "rate_interval": "the share of attempts that show it, as a 95 % interval",
    "checks": "each part of the claim, with its result and what was observed",
    "facets": "the verdict on each of several claims; empty if the report makes one",
    "varying_values": "names of captured values that differ between the repeats",
    "trace": "with the setting `trace`: the trace of the first counted attempt that has one",
    "waiting": "the place in the queue; null unless the job waits",
    "estimate": "the estimate of this cell; only in a plan (`dry_run`)",
    "attempts": "all executions of the script in this cell, also those that do not count",
}
FIELDS = {"RunDocument": RUN_FIELDS, "SubmittedRun": RUN_FIELDS, "JobPart": JOB_FIELDS}
_FIRST_SENTENCE = re.compile(r"(.+?)[.:](?=\s|$)", re.DOTALL)


def describe(application: FastAPI) -> None:
    """Add the words to the OpenAPI document of an application."""
    make_document = application.openapi

    def openapi() -> dict[str, Any]:
        document = make_document()
        for name, words in FIELDS.items():
            fields = document["components"]["schemas"][name]["properties"]
            for field, text in words.items():
                fields[field]["description"] = text
        for operations in document["paths"].values():
            for operation in operations.values():
                operation["summary"] = summary_of(operation["description"])
                for parameter in operation.get("parameters", []):
                    if not parameter.get("description") and parameter["name"] in PARAMETERS:
                        parameter["description"] = PARAMETERS[parameter["name"]]
        return document

    application.openapi = openapi  # type: ignore[method-assign]


def summary_of(description: str) -> str:
    """The first sentence of a description, without its full stop."""
    sentence = _FIRST_SENTENCE.match(description)
    return " ".join((sentence[1] if sentence else description).split())
