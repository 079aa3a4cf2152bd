"""The steps of our Action and of the workflows in the pages: other actions take what these give them.

`foreign_actions.json` has the names of their inputs and outputs, each with the commit of its `action.yml`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def own_action(folder: str) -> dict[str, list[str]]:
    """The names of the inputs and outputs of one of our own actions."""
    action = yaml.safe_load((ROOT / folder / "action.yml").read_text())
    required = [name for name, given in action["inputs"].items() if given.get("required")]
    return {
        "inputs": list(action["inputs"]),
        "required": required,
        "outputs": list(action.get("outputs", {})),
    }


OURS = {"OWNER/samehere": own_action("."), "OWNER/samehere/gate": own_action("gate")}
FOREIGN: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "foreign_actions.json").read_text())
_YAML = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)
_OUTPUT = re.compile(r"steps\.([\w-]+)\.outputs\.([\w-]+)")


def steps_in(part: Any) -> Iterator[dict[str, Any]]:
    """All steps that stand anywhere in a workflow, or in a part of one."""
    if isinstance(part, list):
        for each in part:
            yield from steps_in(each)
    elif isinstance(part, dict):
        if "uses" in part or "run" in part:
            yield part
        for each in part.values():
            yield from steps_in(each)


def examples() -> Iterator[tuple[str, str]]:
    """The blocks of YAML in the pages that have steps, each with its name."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        for number, block in enumerate(_YAML.findall(page.read_text()), start=1):
            if "uses:" in block:
                yield f"{page.name} {number}", block


EXAMPLES = {"action.yml": (ROOT / "action.yml").read_text(), **dict(examples())}


def known(uses: str) -> dict[str, Any]:
    """The names of an action's inputs and outputs."""
    name, _, _ = uses.partition("@")
    return OURS[name] if name in OURS else FOREIGN[uses]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_step_gives_an_action_only_what_it_takes_and_all_that_it_needs(name: str) -> None:
    text = EXAMPLES[name]
    steps = list(steps_in(yaml.safe_load(text)))
    used = [step for step in steps if "uses" in step]
    assert used
    for step in used:
        given = set(step.get("with", {}))
        assert given <= set(known(step["uses"])["inputs"]), step
        assert given >= set(known(step["uses"])["required"]), step
    outputs = {step["id"]: known(step["uses"])["outputs"] for step in used if "id" in step}
    own = {step["id"] for step in steps if "id" in step and "run" in step}
    for step, output in _OUTPUT.findall(text):
        assert step in own or output in outputs[step], (step, output)


def test_every_action_is_used_and_has_its_source() -> None:
    used = {
        step["uses"]
        for text in EXAMPLES.values()
        for step in steps_in(yaml.safe_load(text))
        if "uses" in step
    }
    assert set(FOREIGN) == {each for each in used if not each.startswith("OWNER/")}
    for name, facts in FOREIGN.items():
        repository = name.partition("@")[0]
        assert re.fullmatch(
            rf"https://github\.com/{repository}/blob/[0-9a-f]{{40}}/action\.yml", facts["source"]
        )
