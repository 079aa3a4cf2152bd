"""The container files hold together: targets that exist, modules that exist, a node that has neither
database nor web framework.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
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


@pytest.mark.parametrize(("stage", "extra"), [("web", "service,embedded,mcp,github"), ("node", "node")])
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
    assert copied == {
        "pyproject.toml",
        "constraints.txt",
        "README.md",
        "LICENSE",
        "samehere.py",
        "app",
        "worker",
        "migrations",
        "samehere_client",
    }
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
    commands += [service["healthcheck"]["test"][1:] for service in health_checks().values()]
    modules = {command[3] for command in commands if command[:3] == ["python", "-P", "-m"]}
    assert not [command for command in commands if command[:1] == ["python"] and command[1] != "-P"]
    assert modules == {"app.serve.web", "app.serve.database", "app.tasks", "app.tasks.health", "worker"}
    for module in modules:
        assert find_spec(module), module


def test_a_node_sees_the_broker_and_nothing_else() -> None:
    loaded = compose()
    for name in ("node-cpu", "node-gpu"):
        service = loaded["services"][name]
        assert service["networks"] == ["nodes"]
        assert "SAMEHERE_DATABASE_URL" not in service["environment"]
        # A key of its own, and neither the broker's password nor the key of another node.
        key = service["environment"]["SAMEHERE_NODE_NAME"]
        assert service["secrets"] == [key]
        assert service["environment"]["SAMEHERE_BROKER_URL"].startswith(f"redis://node.{key}@")
        assert service["environment"]["SAMEHERE_BROKER_PASSWORD_FILE"] == f"/run/secrets/{key}"
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
    assert published == ["127.0.0.1:${WEB_PORT:-8000}:8000"]


def health_checks() -> dict[str, Any]:
    """The services with a health check of their own."""
    services = compose()["services"].items()
    return {name: service for name, service in services if service.get("healthcheck", {}).get("test")}


def test_everything_that_serves_has_a_health_check() -> None:
    in_image = {
        name for name, lines in stages().items() if any(line.startswith("HEALTHCHECK") for line in lines)
    }
    assert in_image == {"web", "node"}
    for name, service in compose()["services"].items():
        assert name in health_checks() or service.get("restart") == "no", name
    # A server that answers only itself while it begins is not healthy.
    assert "127.0.0.1" in compose()["services"]["postgres"]["healthcheck"]["test"]


def test_a_secret_stands_in_its_file_only() -> None:
    """No variable, no command and no URL of the compose file holds or takes a password."""
    text = "\n".join(
        line
        for line in (ROOT / "docker-compose.yml").read_text().splitlines()
        if not line.lstrip().startswith("#")
    )
    assert not re.findall(r"\$\{[A-Z_]*(?:PASSWORD|KEY|TOKEN)[A-Z_]*", text)
    assert not re.findall(r"//[^/\s]*:[^/\s]*@", text)
    assert "requirepass" not in text
    loaded = compose()
    for name, service in loaded["services"].items():
        assert set(service.get("secrets", [])) <= set(loaded["secrets"]), name
        for variable, value in (service.get("environment") or {}).items():
            if "PASSWORD" in variable:
                assert variable.endswith("_FILE")
                assert value.removeprefix("/run/secrets/") in service["secrets"]


def test_nodes_are_limited_and_images_have_whole_versions() -> None:
    services = compose()["services"]
    for name in ("node-cpu", "node-gpu", "toolchain", "toolchain-gpu"):
        assert re.fullmatch(r"\$\{NODE_MEMORY:-\d+g\}", services[name]["mem_limit"])
        assert re.fullmatch(r"\$\{NODE_PIDS:-\d+\}", services[name]["pids_limit"])
    for name, service in services.items():
        if "build" not in service:
            assert re.search(r":\d+\.\d+", service["image"]), name
    assert re.search(r"^ARG PYTHON=\d+\.\d+\.\d+$", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    volumes = [services[name]["volumes"][0].partition(":")[0] for name in ("toolchain-gpu", "node-gpu")]
    assert volumes == ["node-gpu-state", "node-gpu-state"]


def test_the_first_lines_name_every_variable() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    head, _, body = text.partition("\nname: ")
    used = set(re.findall(r"\$\{([A-Z_]+):-", body))
    assert used == set(re.findall(r"\b(" + "|".join(sorted(used, key=len, reverse=True)) + r")\b", head))


def run_broker_script(folder: Path, password: str) -> str:
    """What the broker's start makes of a password file: the rules of its users."""
    script = (ROOT / "containers" / "broker.sh").read_text()
    (folder / "password").write_text(password)
    program = folder / "docker-entrypoint.sh"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    script = script.replace("/data", str(folder)).replace(
        "/run/secrets/broker_password", str(folder / "password")
    )
    done = subprocess.run(
        ["sh", "-c", script],
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert password.strip() not in done.stdout
    return (folder / "users.acl").read_text()


def test_the_broker_takes_any_password_and_keeps_node_keys(tmp_path: Path) -> None:
    hard = "p@s/s:w#o%r d'\"\\$x"
    rules = run_broker_script(tmp_path, f"{hard}\n")
    digest = hashlib.sha256(hard.encode()).hexdigest()
    assert rules.splitlines()[0] == f"user default on #{digest} ~* &* +@all"
    assert hard not in rules
    with (tmp_path / "users.acl").open("a") as file:
        file.write("user node.lab-1 on #00 -@all\n")
    again = run_broker_script(tmp_path, "other\n")
    assert again.count("user default") == 1
    assert digest not in again
    assert "user node.lab-1 on #00 -@all" in again
