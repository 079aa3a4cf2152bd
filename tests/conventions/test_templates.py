"""Every template compiles, and none switches escaping off."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
import pytest

from app.web.parts import PartExtension

FOLDER = Path(__file__).parents[2] / "app" / "web" / "templates"
TEMPLATES = sorted(path for path in FOLDER.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_template_compiles(path: Path) -> None:
    source = path.read_text()
    jinja2.Environment(autoescape=True, extensions=[PartExtension]).parse(source, filename=str(path))
    assert not re.search(r"\|\s*safe\b|autoescape\s+false", source), (
        "what comes from a report must not become markup"
    )
    assert not re.search(r"<script(?![^>]*\ssrc=)|\son[a-z]+=|\bstyle=", source), (
        "the CSP forbids inline scripts and styles"
    )
