"""A misspelt setting is named with the nearest right one, and every setting is known by name."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from app.settings import ServiceSettings
from worker.contract.settings.names import SETTINGS, unknown_settings, warning_of
from worker.machine.settings import NodeSettings


def test_every_setting_is_known_by_name() -> None:
    assert set(ServiceSettings.model_fields) | set(NodeSettings.model_fields) == SETTINGS


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("SAMEHERE_TOOLCHAINS_DIRECTORY", "SAMEHERE_TOOLCHAINS"),
        ("SAMEHERE_DATABSE_URL", "SAMEHERE_DATABASE_URL"),
        ("SAMEHERE_READER_KEY", "SAMEHERE_READER_KEY_FILE"),
        ("samehere_slot", "SAMEHERE_SLOTS"),
        ("SAMEHERE_QQQQQQ", None),
    ],
)
def test_a_misspelt_name_has_the_nearest_right_one(name: str, nearest: str | None) -> None:
    assert unknown_settings([name, "SAMEHERE_HOME", "samehere_host", "SAMEHERE_TOKEN", "HOME"]) == {
        name: nearest
    }
    assert (nearest or "docs/settings.md") in warning_of(name, nearest)


@pytest.mark.parametrize("command", [("app.cli", "read", "--nothing"), ("worker", "health")])
def test_the_command_line_and_a_process_of_its_own_say_so(command: tuple[str, ...]) -> None:
    """Each ends at once: the one by a wrong option, the other because there is no broker."""
    variables = os.environ | {"SAMEHERE_SLOT": "2", "SAMEHERE_LOG_FORM": "json"}
    done = subprocess.run(
        [sys.executable, "-P", "-m", *command], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert done.stderr.count("SAMEHERE_SLOTS") == 1, done.stderr
