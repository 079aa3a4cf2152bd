"""The answer in a terminal: everything that matters is there, and no byte of a script acts."""

from __future__ import annotations

import io
import unicodedata
from typing import Any

import pytest
from rich.console import Console

from app.command.terminal.render import render
from app.ids import new_id
from app.judging.judgement import Verdict
from app.runs.run_object.document import RunDocument

HOSTILE = "\x1b[2J\x1b]0;x\x07[bold]b[/bold]\u202e\r\x9b \N{GREEK SMALL LETTER ALPHA}"


def attempt(**fields: Any) -> dict[str, Any]:
    return {
        "id": new_id(),
        "kind": "repeat",
        "start": "cold",
        "state": "recorded",
        "node": "local",
        "level": "ns+seccomp",
        "outcome": "completed",
        "exit_status": 0,
        "stdout": "loss 0.5\n",
        "wall_seconds": 1.0,
        **fields,
    }


def job(verdict: str, **fields: Any) -> dict[str, Any]:
    target = {
        "device": "cpu",
        "gpus": 0,
        "toolchain": "torch-2.13-cpu",
        "settings": fields.pop("settings", {}),
    }
    counts = {"matched": 2, "of": 3, "attempts": [attempt()]}
    return {
        "id": new_id(),
        "script": "sha256:1",
        "target": target,
        "state": "judged",
        "verdict": verdict,
        **counts,
        **fields,
    }


def document(verdict: str, **fields: Any) -> RunDocument:
    base = {
        "schema": 1,
        "id": new_id(),
        "state": "finished",
        "verdict": verdict,
        "summary": "One plain sentence.",
        "jobs": [job(verdict)],
        "created_at": "2026-11-28T00:00:00Z",
        "finished_at": "2026-11-28T00:00:09Z",
    }
    return RunDocument.model_validate(base | fields)


def shown(run: RunDocument, width: int = 120) -> str:
    stream = io.StringIO()
    render(run, Console(file=stream, width=width, markup=False, emoji=False, highlight=False, no_color=True))
    return stream.getvalue()


@pytest.mark.parametrize("verdict", [str(verdict) for verdict in Verdict])
def test_the_verdict_and_its_sentence_come_first(verdict: str) -> None:
    assert shown(document(verdict)).startswith(f"{verdict}: One plain sentence.")


@pytest.mark.parametrize("width", [30, 80, 200])
def test_no_text_of_a_script_acts_on_the_terminal(width: int) -> None:
    check = {
        "text": HOSTILE,
        "kind": "output",
        "role": "bug",
        "where": {"device": HOSTILE},
        "over": "attempt",
    }
    script = {
        "role": "main",
        "as_given": "",
        "script": "",
        "digest": "sha256:1",
        "repairs": [{"code": HOSTILE, "detail": HOSTILE}],
    }
    first, second = (
        attempt(stdout=HOSTILE),
        attempt(exception={"type": HOSTILE, "message": HOSTILE}, node=HOSTILE),
    )
    comparison = {
        "id": new_id(),
        "baseline": first["id"],
        "candidate": second["id"],
        "result": "different",
        "differences": [
            {"about": about, "baseline": HOSTILE, "candidate": HOSTILE}
            for about in (HOSTILE, f"environment: {HOSTILE}")
        ],
    }
    run = document(
        "observed",
        summary=HOSTILE,
        where=[HOSTILE],
        not_where=[HOSTILE],
        ask=[{"code": "x", "text": "Send it."}],
        report={"title": HOSTILE, "scripts": [script], "claim": {"checks": [check]}},
        jobs=[
            job(
                "observed", checks=[{"text": HOSTILE, "result": "met", "observed": HOSTILE}], attempts=[first]
            ),
            job(
                "cannot_show",
                reason={"code": HOSTILE, "detail": HOSTILE},
                attempts=[second],
                settings={"threads": "1"},
            ),
        ],
        comparisons=[comparison],
    )
    text = shown(run, width)
    assert all(char == "\n" or unicodedata.category(char)[0] != "C" for char in text)
    assert "[bold]b" in shown(run, 1000)


def test_it_says_how_weak_a_no_is_and_where_it_was_looked_for() -> None:
    run = document(
        "not_reproduced",
        scope="elsewhere",
        scope_differs=["torch.version"],
        not_where=["cpu@torch-2.13-cpu"],
        jobs=[job("not_reproduced", matched=0, of=5, rate_upper_bound=0.4507)],
    )
    text = shown(run)
    for words in (
        "0 of 5",
        "up to 45%",
        "Scope: elsewhere (torch.version)",
        "Not seen on: cpu@torch-2.13-cpu",
    ):
        assert words in text


def test_the_contrast_of_a_sighting_is_named() -> None:
    seen = shown(document("reproduced", contrast={"kind": "control", "target": "cpu@torch-2.13-cpu"}))
    assert "The report's own control does not show it on cpu@torch-2.13-cpu." in seen
    assert "nothing shows yet what it depends on" in shown(document("reproduced", contrast={"kind": "none"}))
    for is_open, words in ((True, "is being tried, to find one without it"), (False, "was tried for that")):
        contrast = {"kind": "none", "added": "cpu@torch-2.1-cpu", "is_open": is_open}
        seen = " ".join(shown(document("reproduced", contrast=contrast)).split())
        assert f"ne target more {words}: cpu@torch-2.1-cpu." in seen
    assert "Contrast" not in shown(document("flaky"))


def test_each_of_several_claims_has_a_line() -> None:
    facets = [{"name": "loss", "verdict": "reproduced"}, {"name": "gradient", "verdict": "cannot_show"}]
    text = shown(document("reproduced", facets=facets))
    assert "Claim loss: reproduced." in text
    assert "Claim gradient: cannot_show." in text


def test_it_says_what_differs_and_the_likeliest_reason() -> None:
    first, second = attempt(stdout="cpu nan\n"), attempt(stdout="cpu -inf\n")
    differences = [
        {"about": "stdout", "baseline": "cpu nan", "candidate": "cpu -inf"},
        *(
            {"about": f"environment: {name}", "baseline": "a", "candidate": "b"}
            for name in ("blas.path", "blas.cnr", "x", "y")
        ),
    ]
    comparison = {
        "id": new_id(),
        "baseline": first["id"],
        "candidate": second["id"],
        "result": "different",
        "differences": differences,
    }
    jobs = [
        job("different", attempts=[first]),
        job("reproduced", attempts=[second], settings={"cpu-isa": "sse4.2"}),
    ]
    text = shown(document("reproduced", jobs=jobs, comparisons=[comparison]), 400)
    assert (
        "cpu@torch-2.13-cpu:cpu-isa=sse4.2 against cpu@torch-2.13-cpu: stdout 'cpu -inf' against 'cpu nan'"
        in text
    )
    assert "(blas.path b against a, blas.cnr b against a, x b against a and 1 more fields)" in text


def test_a_cancelled_run_shows_what_there_was() -> None:
    open_job = {**job("flaky"), "verdict": None, "state": "cancelled"}
    run = document("flaky", state="cancelled", so_far="flaky", jobs=[job("flaky"), open_job]).model_copy(
        update={"verdict": None}
    )
    text = shown(run)
    assert text.startswith("cancelled; so far: flaky: One plain sentence.")
    assert "2 of 3" in text


def test_what_must_be_supplied_is_listed() -> None:
    text = shown(
        document(
            "needs_info", jobs=[], ask=[{"code": "file", "text": "Send a script that makes its data itself."}]
        )
    )
    assert "- Send a script that makes its data itself. (file)" in text


def test_a_rate_comes_with_its_interval() -> None:
    interval = {"low": 0.0667, "high": 0.6525, "level": 0.95, "method": "clopper-pearson"}
    text = shown(document("flaky", jobs=[job("flaky", matched=3, of=10, rate_interval=interval)]), width=200)
    assert "3 of 10, so the rate is between 7% and 65% of attempts (clopper-pearson, 95%)." in text
    assert "the rate is" not in shown(document("flaky", jobs=[job("flaky", matched=3, of=10)]))
