"""A client that is generated from our OpenAPI document has a type for every answer."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from api.web_client import Web
from openapi_python_client import generate
from openapi_python_client.config import Config, ConfigFile, MetaType

PACKAGE = "generated_samehere"
# These answer text or a stream.
NOT_JSON = {"follow_run", "follow_all", "metrics", "llms"}


def names_of_types(annotation: Any) -> set[str]:
    return {getattr(part, "__name__", str(part)) for part in get_args(annotation) or (annotation,)}


def test_a_generated_client_types_every_answer(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = web.client.get("/api/v1/openapi.json").json()
    source = tmp_path / "openapi.json"
    source.write_text(json.dumps(described))
    configuration = Config.from_sources(
        ConfigFile(post_hooks=[]),
        MetaType.NONE,
        document_source=source,
        file_encoding="utf-8",
        overwrite=True,
        output_path=tmp_path / PACKAGE,
    )
    assert list(generate(config=configuration)) == []
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        for methods in described["paths"].values():
            for operation in methods.values():
                name, tag = operation["operationId"], operation["tags"][0]
                module = importlib.import_module(f"{PACKAGE}.api.{tag}.{name}")
                if name not in NOT_JSON:
                    types = names_of_types(get_type_hints(module.sync)["return"])
                    assert types - {"Problem", "NoneType"}, name
                    assert "Any" not in types, name
        models = importlib.import_module(f"{PACKAGE}.models")
        run = models.SubmittedRun.from_dict(web.post())
        assert run.jobs[0].target.device == "cpu"
        assert run.links.events.endswith("/events")
        finished = models.RunAnswer.from_dict(web.finish(run.id))
        assert finished.verdict == models.Verdict.REPRODUCED
        assert finished.jobs[0].attempts[0].exception.message == "boom"
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
            del sys.modules[name]
