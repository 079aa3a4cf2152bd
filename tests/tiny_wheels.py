"""Creates tiny wheels, and lets pip use only the folder with them."""

from __future__ import annotations

import base64
import hashlib
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest


def make_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    files: Mapping[str, str | bytes] | None = None,
    requires: Sequence[str] = (),
    commands: Mapping[str, str] | None = None,
) -> Path:
    """A pure wheel with one module of its name, or with these files."""
    info = f"{name}-{version}.dist-info"
    content: dict[str, str | bytes] = dict(files or {f"{name}.py": f"VERSION = {version!r}\n"})
    needs = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    content[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
    content[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    if commands:
        lines = "".join(f"{command} = {target}\n" for command, target in commands.items())
        content[f"{info}/entry_points.txt"] = f"[console_scripts]\n{lines}"
    encoded = {path: text.encode() if isinstance(text, str) else text for path, text in content.items()}
    rows = [f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in encoded.items()]
    encoded[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in encoded.items():
            archive.writestr(zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0)), text, zipfile.ZIP_DEFLATED)
    return wheel


def make_source(folder: Path, name: str, marker: Path) -> Path:
    """A source distribution whose build would write a marker file."""
    inside = {
        "setup.py": (
            f"open({str(marker)!r}, 'w').close()\nimport setuptools\n"
            f"setuptools.setup(name={name!r}, version='1.0')\n"
        ),
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
    }
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"{name}-1.0"
    source.mkdir()
    for path, text in inside.items():
        (source / path).write_text(text)
    with tarfile.open(folder / f"{name}-1.0.tar.gz", "w:gz") as archive:
        archive.add(source, arcname=source.name)
    return source


def take_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pip find wheels in this folder and nowhere else."""
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
