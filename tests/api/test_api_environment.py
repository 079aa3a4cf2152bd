"""The reporter's environment, corrected and completed over REST."""

from __future__ import annotations

from typing import Any

import pytest
from api.web_client import Web

REPORT = """On numpy 2.3 on Windows 11 this prints the wrong total.

```python
print("total", 5)
```

Expected:

```
total 6
```
"""


def test_reading_planning_and_running_take_it(web: Web) -> None:
    change: dict[str, Any] = {"os.name": "Windows 10", "package.numpy": None, "cudnn.version": "8.9.2"}
    body = {"report": REPORT, "environment": change}
    read = web.client.post("/api/v1/reports:read", json=body).json()["report"]
    assert read["environment"] == {"cudnn.version": 8902, "os.name": "Windows 10"}
    as_read = {"cudnn.version": "", "os.name": "Windows 11", "package.numpy": "2.3"}
    assert read["environment_as_read"] == as_read
    plan = web.client.post("/api/v1/runs?dry_run=true", json=body).json()["report"]
    run = web.client.post("/api/v1/runs", json=body).json()
    for report in (plan, run["report"]):
        assert (report["environment"], report["environment_as_read"]) == (read["environment"], as_read)
    web.finish(run["id"])
    bundle = web.client.get(f"/api/v1/runs/{run['id']}/bundle").json()
    assert bundle["report"]["environment"] == {
        "cudnn.version": "8902",
        "os.name": "Windows 10",
        "package.numpy": "",
    }


def test_without_a_correction_nothing_is_said_of_it(web: Web) -> None:
    same = {"os.name": "Windows 11", "gpu.0.model": ""}
    read = web.client.post("/api/v1/reports:read", json={"report": REPORT, "environment": same}).json()
    assert "environment_as_read" not in read["report"]
    run = web.client.post("/api/v1/runs", json={"report": REPORT}).json()
    assert "environment_as_read" not in run["report"]
    web.finish(run["id"])
    assert "environment" not in web.client.get(f"/api/v1/runs/{run['id']}/bundle").json()["report"]


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"weather": "rain"}, "no such field"),
        ({"package.Num Py": "2.4"}, "no such field"),
        ({"os.name": "x" * 201}, "at most 200"),
        ({"os.name": "a\nb"}, "printable"),
        ({"cudnn.version": "eight"}, "a whole number"),
    ],
)
def test_what_is_wrong_is_said(web: Web, environment: dict[str, str], words: str) -> None:
    answer = web.client.post("/api/v1/runs", json={"report": REPORT, "environment": environment})
    assert (answer.status_code, answer.json()["field"]) == (422, "environment")
    assert words in answer.json()["detail"]
