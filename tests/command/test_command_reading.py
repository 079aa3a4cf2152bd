"""A reading in a terminal: complete, short, and no byte of it acts."""

from __future__ import annotations

from typing import Any

from test_command_render import HOSTILE, attempt, document, job, shown

from app.runs.run_object.document import ScriptPart
from app.runs.run_object.reading_notes import environment_differences, repair_diff


def part(**fields: Any) -> dict[str, Any]:
    return {"role": "main", "as_given": "print(1)\n", "script": "print(1)\n", "digest": "sha256:1", **fields}


def test_what_a_repair_changed_is_shown_line_by_line() -> None:
    repaired = part(
        as_given='print "a"\nx = 1\n',
        script='import torch; print("a")\nx = 1\n',
        repairs=[{"code": "python2_print"}, {"code": "missing_import"}],
    )
    assert repair_diff(ScriptPart.model_validate(repaired)) == ['-print "a"', '+import torch; print("a")']
    text = shown(document("observed", report={"scripts": [repaired]}))
    assert "Script 1 (main): 2 lines, run with repairs (python2_print, missing_import)." in text
    assert '    -print "a"\n    +import torch; print("a")' in text


def test_line_ends_are_no_repair_to_show() -> None:
    assert (
        repair_diff(ScriptPart.model_validate(part(as_given="a = 1\r\nb = 2", script="a = 1\nb = 2\n"))) == []
    )


def test_roles_and_needs_are_told() -> None:
    needs = [
        {"kind": "gpu", "count": 2},
        {"kind": "package", "name": "torch"},
        {"kind": "file", "name": HOSTILE},
    ]
    text = shown(
        document(
            "observed", report={"scripts": [part(), part(role="control", needs=needs), part(role="part")]}
        ),
        width=400,
    )
    assert "Script 1 (main): 1 line, run as given." in text
    assert "Script 2 (control): 1 line, run as given, needs gpu x 2, package torch, file " in text
    assert "Script 3 (part): 1 line, not run by itself." in text
    assert "\x1b" not in text


def with_places(claimed: dict[str, Any], **found: Any) -> Any:
    jobs = [job("reproduced", attempts=[attempt(environment="sha256:e")])]
    return document(
        "reproduced",
        jobs=jobs,
        environments={"sha256:e": found},
        report={"environment": claimed, "scripts": [part()]},
    )


def test_what_differs_from_the_reporter_s_place_comes_likeliest_first() -> None:
    claimed = {
        "os.name": "Windows 11",
        "torch.version": "2.3.0",
        "gpu.0.model": "A100",
        "python.version": "3.11",
    }
    run = with_places(
        claimed,
        **{
            "torch.version": "2.13.0+cpu",
            "gpu.0.model": "NVIDIA A100-SXM4-80GB",
            "python.version": "3.11.2",
            "os.name": "Debian 12",
        },
    )
    assert [(field.name, field.claimed, field.values) for field in environment_differences(run)] == [
        ("torch.version", "2.3.0", ("2.13.0+cpu",)),
        ("os.name", "Windows 11", ("Debian 12",)),
    ]
    assert "different: torch.version 2.3.0 (here 2.13.0+cpu), os.name Windows 11 (here Debian 12)." in shown(
        run, width=400
    )


def test_a_version_is_not_the_beginning_of_another() -> None:
    assert [
        field.name
        for field in environment_differences(
            with_places({"torch.version": "2.1"}, **{"torch.version": "2.13.0"})
        )
    ] == ["torch.version"]
    assert (
        environment_differences(with_places({"torch.version": "2.13"}, **{"torch.version": "2.13.0+cpu"}))
        == []
    )


def test_the_same_place_is_said_to_be_the_same_and_nothing_is_said_of_none() -> None:
    assert "matches everything" in shown(
        with_places({"torch.version": "2.13.0"}, **{"torch.version": "2.13.0+cpu"}), width=400
    )
    assert "environment" not in shown(with_places({}, **{"torch.version": "2.13.0+cpu"}), width=400)
