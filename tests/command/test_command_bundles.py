"""Bundles on the command line: made by a run on this machine, given to a service, and out of one again."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cli.command_line import bare_environment, samehere
from running_command import run_here
from running_web import Web
from stage import result

from app.runs.run_object.storable import json_digest

REPORT = (
    "# Loss\n\n```python\nsmall, large, count = 1e-8, 1e22, 10**22\nprint('loss nan')\n```\n\n"
    "Prints `loss nan`, but I expected `loss 1`.\n"
)


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    return bare_environment(home)


def finished(web: Web) -> str:
    web.stage.node("n")
    run_id = web.stage.submit().document.id
    for attempt in web.stage.dispatch():
        web.stage.say(result(attempt, node="n"))
    return run_id


def exported(web: Web, environment: Mapping[str, str]) -> dict[str, Any]:
    done = samehere("export", finished(web), "--server", web.url, environment=environment)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def by_others(bundle: dict[str, Any]) -> bytes:
    for job in bundle["jobs"]:
        for attempt in job["attempts"]:
            attempt["result"]["node"] = "lab-of-others"
    content = {name: value for name, value in bundle.items() if name != "digest"}
    return json.dumps({**content, "digest": json_digest(content)}).encode()


def test_out_of_a_service_and_into_it(web: Web, environment: dict[str, str], tmp_path: Path) -> None:
    data = by_others(exported(web, environment))
    words = ("import", "-", "--by", "Ada", "--server", web.url)
    first = samehere(*words, "--json", environment=environment, stdin=data)
    assert first.returncode == 0, first.stderr
    run = json.loads(first.stdout)
    assert (run["contributed"]["by"], run["verdict"]) == ("Ada", "reproduced")
    assert first.stderr.strip().endswith(f"/runs/{run['id']}")
    again = samehere(*words, environment=environment, stdin=data)
    assert (again.returncode, "it was there before" in again.stderr) == (0, True)
    assert "Contributed by Ada" in again.stdout
    out = tmp_path / "run.json"
    third = samehere("export", run["id"], "-o", str(out), "--server", web.url, environment=environment)
    assert (third.returncode, third.stdout) == (0, "")
    assert json.loads(out.read_text())["made_by"]["contributed_by"] == "Ada"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_damaged_one_is_refused_before_anything_is_sent(web: Web, environment: dict[str, str]) -> None:
    data = by_others(exported(web, environment))
    for damaged, words in (
        (data[:-100], "whole file"),
        (data.replace(b"boom", b"bomb"), "altered"),
        (b"{}", "no bundle"),
    ):
        done = samehere(
            "import", "-", "--server", "http://127.0.0.1:9", environment=environment, stdin=damaged
        )
        assert (done.returncode, words in done.stderr, done.stdout) == (2, True, "")


def test_what_can_not_be_meant_is_refused_at_once(environment: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print(1)\n")
    done = run_here(
        "reproduce", str(script), "--bundle", str(tmp_path / "nowhere" / "run.json"), environment=environment
    )
    assert (done.returncode, "can't be written" in done.stderr) == (2, True)
    assert run_here("export", "x", environment=environment).returncode == 2
    asked = run_here(
        "reproduce",
        "-",
        "--bundle",
        str(tmp_path / "run.json"),
        environment=environment,
        stdin=b"name = input()\nprint(name)\n",
    )
    assert (asked.returncode, "no bundle" in asked.stderr) == (0, True)
    assert not (tmp_path / "run.json").exists()


@pytest.mark.sandbox
def test_what_runs_here_adds_a_column_there(
    web: Web, home: Path, toolchains: Path, toolchain: str, tmp_path: Path
) -> None:
    """The service has already run the same report on its own nodes: the current verdict does not change."""
    environment = {
        **bare_environment(home),
        "SAMEHERE_TOOLCHAINS": str(toolchains),
        "SAMEHERE_NODE_NAME": "rare-card",
    }
    report, out = tmp_path / "report.md", tmp_path / "run.json"
    report.write_text(REPORT)
    done = samehere(
        *(
            "reproduce",
            str(report),
            "--target",
            f"cpu@{toolchain}:threads=1",
            "--repeats",
            "2",
            "--bundle",
            str(out),
        ),
        environment=environment,
    )
    assert done.returncode == 0, done.stderr
    bundle = json.loads(out.read_text())
    assert (bundle["made_by"]["nodes"], bundle["report"]["text"], bundle["said"]["verdict"]) == (
        ["rare-card"],
        REPORT,
        "reproduced",
    )
    web.stage.node("n")
    own = web.client.post("/api/v1/runs", json={"report": REPORT, "repeats": 3}).json()
    given = samehere(
        "import", str(out), "--by", "Ada", "--server", web.url, "--json", environment=environment
    )
    assert given.returncode == 0, given.stderr
    run = json.loads(given.stdout)
    assert (run["report"]["id"], run["verdict"], run["jobs"][0]["matched"]) == (
        own["report"]["id"],
        "reproduced",
        2,
    )
    # After the database the evidence is the same, to the last digit of every number.
    samehere("export", run["id"], "-o", str(out), "--server", web.url, environment=environment)
    back = samehere("import", str(out), "--by", "Eve", "--server", web.url, environment=environment)
    assert (back.returncode, "it was there before" in back.stderr) == (0, True)
    [environment_found] = run["environments"].values()
    assert environment_found["torch.version"]
    cells = web.client.get(f"/api/v1/reports/{own['report']['id']}/matrix").json()["cells"]
    assert sorted((cell["contributed_by"] or "", cell["verdict"]) for cell in cells) == [
        ("", None),
        ("Ada", "reproduced"),
    ]


def test_probe_py_is_printed_and_served_alike(web: Web, environment: dict[str, str]) -> None:
    printed = run_here("probe", environment=environment)
    assert printed.returncode == 0, printed.stderr
    ast.parse(printed.stdout, feature_version=(3, 8))
    served = web.client.get("/probe.py")
    assert served.text == printed.stdout
    assert served.headers["content-type"].startswith("text/x-python")
    assert 'filename="probe.py"' in served.headers["content-disposition"]


def test_what_a_reporter_pastes_is_read_here(web: Web, environment: dict[str, str], tmp_path: Path) -> None:
    """From the file as it is served to the page of the report."""
    (tmp_path / "probe.py").write_text(web.client.get("/probe.py").text)
    (tmp_path / "script.py").write_text("raise RuntimeError('boom')\n")
    variables = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "probe.py", "script.py"],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    paste = done.stdout[done.stdout.index("It shows your versions") :]
    report = f"# It fails\n\n```python\nraise RuntimeError('boom')\n```\n\nHere:\n\n{paste}"
    (tmp_path / "report.md").write_text(report)
    read = run_here("read", str(tmp_path / "report.md"), environment=environment)
    assert "On the reporter's machine, by their probe.py: exit status 1, RuntimeError: boom." in read.stdout
    web.stage.node("n")
    run = web.client.post("/api/v1/runs", json={"report": report}).json()
    assert run["report"]["claim"]["checks"][0]["text"] == "RuntimeError: boom"
    assert run["report"]["probe"]["whole"] is True
    for path in (f"/runs/{run['id']}", f"/reports/{run['report']['id']}"):
        page = web.client.get(path).text
        assert "On the reporter's machine" in page
        assert "RuntimeError: boom" in page


def test_who_is_asked_for_a_script_is_told_of_it(web: Web, environment: dict[str, str]) -> None:
    run = web.client.post("/api/v1/runs", json={"report": "# Help\n\nIt fails.\n"}).json()
    assert run["verdict"] == "needs_info"
    assert 'href="/probe.py"' in web.client.get(f"/runs/{run['id']}").text
    assert 'href="/probe.py"' in web.client.get(f"/reports/{run['report']['id']}").text
    asked = run_here("read", "-", environment=environment, stdin=b"# Help\n\nIt fails.\n")
    assert "samehere probe > probe.py" in asked.stdout
