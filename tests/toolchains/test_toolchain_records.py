"""The files of toolchains that older versions wrote are read."""

from __future__ import annotations

from pathlib import Path

from worker.contract import ToolchainFacts
from worker.toolchains import ToolchainStore
from worker.toolchains.records import MANIFEST_NAME, Manifest, write_manifest


def test_a_build_without_a_name_of_its_own(tmp_path: Path) -> None:
    """Builds had an empty name once, and names had no pattern."""
    folder = tmp_path / "torch-2.13-cpu"
    folder.mkdir()
    facts = ToolchainFacts(name="build", state="ready", torch="2.13.0")
    write_manifest(folder, Manifest(kind="built", build_id="x", facts=facts))
    manifest = folder / MANIFEST_NAME
    manifest.write_text(manifest.read_text().replace('"name": "build"', '"name": ""'))
    assert '"name": ""' in manifest.read_text()
    store = ToolchainStore(tmp_path)
    found = store.find("torch-2.13-cpu")
    assert found is not None
    assert [(facts.name, facts.torch) for facts in store.list()] == [("torch-2.13-cpu", "2.13.0")]
