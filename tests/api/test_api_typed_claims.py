"""A claim as data over REST: read, mend, submit; what can't be judged is refused with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from api.web_client import Web
from sqlalchemy import select

from app.storage.models import ReportRow
from worker.contract import Observation, Outcome

REPORT = """# The sum wraps around

```python
import numpy as np
print(sum(np.arange(100, dtype=np.uint8)))
```

It prints 86, expected 4950. On numpy 1.26 it is right.
"""
CLAIM = {
    "subject": "numpy",
    "checks": [
        {"id": "a", "kind": "value", "number": "86", "at": {"script": 1}, "stream": "stdout"},
        {"id": "b", "of": "a", "role": "expected", "kind": "value", "number": "4950"},
    ],
}


def read(web: Web, **body: Any) -> dict[str, Any]:
    answer = web.client.post("/api/v1/reports:read", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["report"]["claim"])


def printed(text: str) -> dict[str, Any]:
    """A script that ended well and printed this."""
    return {"outcome": Outcome.COMPLETED, "observation": Observation(exit_status=0, stdout=text)}


def stored_claim(web: Web, report_id: str) -> dict[str, Any]:
    with web.stage.session() as session:
        row = session.scalars(select(ReportRow).where(ReportRow.id == report_id)).one()
        return dict(row.reading["claim"])


def test_what_is_read_can_be_submitted_and_gives_the_same_stored_claim(web: Web) -> None:
    claim = read(web, report=REPORT)
    assert [check["number"] for check in claim["checks"]] == ["86", "4950"]
    by_words = web.post(script=None, report=REPORT, claim=None)
    by_data = web.post(script=None, report=REPORT, claim=claim)
    by_text = web.post(script=None, report=REPORT, claim=json.dumps(claim))
    stored = [stored_claim(web, run["report"]["id"]) for run in (by_words, by_data, by_text)]
    assert stored[0]["checks"]
    assert stored[0] == stored[1] == stored[2]
    assert by_data["report"]["claim"] == claim
    assert read(web, report=REPORT, claim=claim) == claim


def test_each_of_several_claims_has_a_verdict(web: Web) -> None:
    checks = [
        {"facet": "sum", "kind": "value", "number": "86"},
        {"facet": "sum", "role": "expected", "kind": "value", "number": "4950"},
        {"facet": "end", "kind": "exception", "type": "ValueError"},
    ]
    run = web.post(script="print(86)\nprint('end')\n", claim={"checks": checks})
    assert run["report"]["claim"]["checks"][0]["facet"] == "sum"
    done = web.finish(run["id"], **printed("86\nend\n"))
    assert done["verdict"] == "reproduced"
    assert {each["name"]: each["verdict"] for each in done["facets"]} == {
        "sum": "reproduced",
        "end": "not_reproduced",
    }
    assert [each["name"] for each in done["jobs"][0]["facets"]] == ["sum", "end"]
    page = web.client.get(f"/runs/{run['id']}").text
    assert "The report makes several claims" in page


def test_a_mended_claim_is_judged_as_it_stands(web: Web) -> None:
    script = "print(86)\nprint(4950)\n"
    run = web.post(script=script, claim=CLAIM)
    checks = run["report"]["claim"]["checks"]
    assert checks[0]["at"] == {"script": 1, "digest": run["report"]["scripts"][0]["digest"]}
    assert checks[1]["of"] == "a"
    done = web.finish(run["id"], **printed("86\n4950\n"))
    assert done["verdict"] == "reproduced"
    second = json.loads(json.dumps(CLAIM))
    second["checks"][0]["occurrence"] = 2
    again = web.post(script=script, claim=second)
    assert web.finish(again["id"], **printed("1\n4950\n"))["verdict"] == ("not_reproduced")


def test_a_dry_run_takes_data_and_stores_nothing(web: Web) -> None:
    answer = web.client.post(
        "/api/v1/runs", params={"dry_run": True}, json={"script": "print(86)\n", "claim": CLAIM}
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["report"]["claim"]["checks"][0]["stream"] == "stdout"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"checks": [{"kind": "hang"}, {"kind": "output", "lines": [1]}]}, "claim.checks.1.lines.0"),
        ({"checks": [{"kind": "value", "number": "86", "at": {"script": 7}}]}, "claim.checks.0.at.script"),
        ({"subject": "numpy"}, "claim.checks"),
        ({"checks": [{"kind": "wrong"}]}, "claim.checks.0.kind"),
    ],
)
def test_what_can_not_be_judged_is_refused_with_its_place(
    web: Web, change: dict[str, Any], field: str
) -> None:
    for path in ("/api/v1/runs", "/api/v1/runs?dry_run=true", "/api/v1/reports:read"):
        answer = web.client.post(path, json={"script": "print(86)\n", "claim": change})
        problem = answer.json()
        assert (answer.status_code, problem["code"], problem["field"]) == (422, "bad_claim", field), path


def test_a_key_stands_for_the_claim_in_it(web: Web) -> None:
    headers = {"Idempotency-Key": "one"}
    body = {"script": "print(86)\n", "claim": CLAIM}
    first = web.client.post("/api/v1/runs", json=body, headers=headers)
    assert web.client.post("/api/v1/runs", json=body, headers=headers).json()["id"] == first.json()["id"]
    other = {**body, "claim": {"checks": [{"kind": "hang"}]}}
    assert web.client.post("/api/v1/runs", json=other, headers=headers).status_code == 422


def test_a_bundle_carries_the_claim(web: Web) -> None:
    run = web.post(script="print(86)\n", claim=CLAIM)
    web.finish(run["id"], **printed("86\n"))
    bundle = web.client.get(f"/api/v1/runs/{run['id']}/bundle").json()
    assert json.loads(bundle["report"]["claim"]) == CLAIM


def test_openapi_describes_each_field_of_each_kind(web: Web) -> None:
    described = web.client.get("/api/v1/openapi.json").json()["components"]["schemas"]
    forms = described["ReadingForm"]["properties"]["checks"]["items"]
    assert forms["discriminator"]["propertyName"] == "kind"
    assert set(forms["discriminator"]["mapping"]) == {
        *("exception", "no_error", "crash", "exit_status", "output", "value", "hang", "out_of_memory"),
        *("varies", "differs", "slower", "out_of_bounds", "lacks"),
    }
    for reference in forms["discriminator"]["mapping"].values():
        form = described[reference.rsplit("/", 1)[-1]]
        assert form["description"]
        for name, field in form["properties"].items():
            assert name == "kind" or field.get("description"), (reference, name)
            assert name in {"kind", "role", "where", "over", "at", "position"} or field.get("examples"), name
