"""The container files hold together: targets that exist, modules that exist, a node that has neither
database nor web framework.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def stages() -> dict[str, list[str]]:
    """Instructions of each stage of the Dockerfile, with those of the stages it stands on."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    found: dict[str, list[str]] = {}
    name = ""
    for line in (line.strip() for line in text.splitlines()):
        opened = re.match(r"FROM (\S+) AS (\S+)$", line)
        if opened:
            name = opened[2]
            found[name] = list(found.get(opened[1], []))
        elif name and line and not line.startswith("#"):
            found[name].append(line)
    return found


def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def test_there_is_a_web_and_a_node() -> None:
    assert {"web", "node"} <= set(stages())


@pytest.mark.parametrize(("stage", "extra"), [("web", "service"), ("node", "node")])
def test_a_stage_installs_what_it_needs_and_no_more(stage: str, extra: str) -> None:
    installs = [line for line in stages()[stage] if "pip install" in line]
    assert len(installs) == 1
    assert re.findall(r"\.\[[a-z,]+\]", installs[0]) == [f".[{extra}]"]


@pytest.mark.parametrize("stage", ["web", "node"])
def test_a_stage_does_not_run_as_root(stage: str) -> None:
    users = [line.split()[1] for line in stages()[stage] if line.startswith("USER ")]
    assert users
    assert users[-1] not in {"root", "0"}


def test_the_image_holds_the_sources_only() -> None:
    copied = {
        source
        for lines in stages().values()
        for line in lines
        if line.startswith("COPY ")
        for source in line.split()[1:-1]
    }
    assert copied == {"pyproject.toml", "README.md", "LICENSE", "app", "worker", "migrations"}
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "**"
    assert copied == {line[1:] for line in ignored if line.startswith("!")}


def test_services_are_built_from_stages_that_exist() -> None:
    targets = {service["build"]["target"] for service in compose()["services"].values() if "build" in service}
    assert targets == {"web", "node"}


def test_services_start_modules_that_exist() -> None:
    commands = [service.get("command", []) for service in compose()["services"].values()]
    commands += [
        re.findall(r'"([^"]+)"', line)
        for lines in stages().values()
        for line in lines
        if line.startswith("CMD [")
    ]
    modules = {command[2] for command in commands if command[:2] == ["python", "-m"]}
    assert modules == {"app.serve.web", "app.serve.database", "app.tasks", "worker"}
    for module in modules:
        assert find_spec(module), module


def test_a_node_sees_the_broker_and_nothing_else() -> None:
    loaded = compose()
    for name in ("node-cpu", "node-gpu"):
        service = loaded["services"][name]
        assert service["networks"] == ["nodes"]
        assert "SAMEHERE_DATABASE_URL" not in service["environment"]
        assert {"seccomp=unconfined", "systempaths=unconfined", "no-new-privileges:true"} <= set(
            service["security_opt"]
        )
        assert service["cap_drop"] == ["ALL"]
        assert "privileged" not in service
        assert "cap_add" not in service
    assert loaded["networks"]["nodes"] == {"internal": True}
    assert "nodes" not in loaded["services"]["postgres"]["networks"]


def test_only_loopback_is_published() -> None:
    published = [port for service in compose()["services"].values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:8000:8000"]


def test_everything_that_serves_has_a_health_check() -> None:
    for name, service in compose()["services"].items():
        in_image = name == "web"
        assert in_image or service.get("healthcheck") or service.get("restart") == "no", name
