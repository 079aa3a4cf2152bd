"""Tables of meanings: one line for each field that does not describe itself.

They stand beside the API and not in the models, because the nodes and the command line use the same models
and never show these texts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

# The key of the meaning of a model as a whole.
WHOLE = "_"
# The key that names another table, whose fields the model has too.
LIKE = "_like"


@cache
def tables() -> Mapping[str, Mapping[str, str]]:
    """All tables, by the name of the model."""
    every: dict[str, Mapping[str, str]] = {}
    for file in sorted(files(__package__).iterdir(), key=lambda each: each.name):
        if file.name.endswith(".toml"):
            every |= tomllib.loads(file.read_text(encoding="utf-8"))
    return every


@cache
def llms_text() -> str:
    """The text of `/llms.txt`, with `{base}` for the address of the service."""
    return files("app.api.openapi").joinpath("llms.txt").read_text(encoding="utf-8")


def table(name: str) -> Mapping[str, str]:
    """The table of a model, with the fields of the one that it is like. Empty if there is none."""
    own = tables().get(name, {})
    return {**table(own[LIKE]), **own} if LIKE in own else own
