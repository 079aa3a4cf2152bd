"""The program of docs/api.md runs as it stands, and ends with a comment that may be posted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from running_web import web_of
from stage import Stage
from working_node import working

PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def program() -> str:
    return "\n\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE))


def test_the_page_leads_from_a_report_to_a_comment(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.node("n")
    names: dict[str, Any] = {}
    with web_of(stage) as web, working(stage):
        monkeypatch.setenv("SAMEHERE", web.url)
        monkeypatch.delenv("SAMEHERE_TOKEN", raising=False)
        exec(compile(program(), str(PAGE), "exec"), names)  # noqa: S102 - the page is ours
        names["api"].close()
        assert names["questions"] == []
        assert (names["brief"]["state"], names["brief"]["verdict"]) == ("finished", "reproduced")
        assert names["submitted"].headers["preference-applied"] == "wait=30"
        assert names["withdraw_url"].startswith(f"{web.url}/withdraw/")
        assert names["kinds"][0] == "run.created"
        assert f"Evidence: {web.url}/runs/{names['run']['id']}" in names["comment"]
        # The words of the report are in no comment.
        assert "boom" not in names["comment"]


def test_the_text_for_models_leads_on(stage: Stage) -> None:
    with web_of(stage) as web:
        answer = web.client.get("/llms.txt")
        assert answer.headers["content-type"].startswith("text/markdown")
        assert answer.text.startswith("# samehere\n\n> ")
        addresses = re.findall(r"\]\((http[^)]+)\)", answer.text)
        assert f"{web.url}/api/v1/openapi.json" in addresses
        for address in addresses:
            assert web.client.head(address).status_code in {200, 405}, address
