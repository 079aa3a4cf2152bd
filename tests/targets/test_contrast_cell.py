"""The cell that may give a contrast: which one is worth most, and when there is none."""

from __future__ import annotations

import pytest

from app.intake.read import read
from app.limits import NO_READ_LIMITS
from app.targets.planning.contrast_cell import Sighting, contrast_cell, may_have_contrast_cell
from app.targets.planning.plan import Plan, RepeatPlan
from app.targets.planning.presets import PRESETS, Preset
from app.targets.target import Target
from worker.contract import Hello, Level, ToolchainFacts

SCRIPT = "import numpy as np\nprint(np.uint8(86) + 1)\n"
COMPILED = "import torch\nf = torch.compile(lambda x: x + 1)\nprint(f(torch.zeros(1)))\n"
NEWEST = "numpy-2.4.0"


def chain(version: str, *, package: str = "numpy", state: str = "ready", **others: str) -> ToolchainFacts:
    return ToolchainFacts.model_validate(
        {
            "name": f"{package}-{version}",
            "state": state,
            "packages": {package: version, **others},
            "torch": version if package == "torch" else None,
        }
    )


def node(*chains: ToolchainFacts) -> Hello:
    return Hello(
        node="n",
        instance="one",
        slots=4,
        level=Level.NAMESPACES_CGROUP,
        toolchains=list(chains),
        cores=8,
        builds=True,
    )


def chosen(
    text: str,
    *chains: ToolchainFacts,
    seen: str = NEWEST,
    ran: tuple[str, ...] = (),
    settings: dict[str, str] | None = None,
) -> str | None:
    """The label of the cell for a report, which was seen in one toolchain and ran in some others."""
    reading = read(text, limits=NO_READ_LIMITS)
    target = Target(toolchain=seen, settings=settings or {})
    sighting = Sighting(
        claim=reading.claim,
        script=reading.scripts[0],
        seen=target,
        ran=(target, *(Target(toolchain=name) for name in ran)),
    )
    cell = contrast_cell(sighting, text, fleet=[node(*chains)], required_level=Level.LIMITS_ONLY)
    return None if cell is None else cell.target.label()


def report(words: str, code: str = SCRIPT) -> str:
    return f"# numpy: the sum is wrong\n\n{words}\n\n```python\n{code}```\n\n```\n88\n```\n"


ALL = tuple(map(chain, ("2.4.0", "2.3.5", "2.2.1", "1.26.4", "2.5.0")))


@pytest.mark.parametrize(
    ("words", "label"),
    [
        ("It prints a wrong number.", "cpu@numpy-2.3.5"),
        ("It worked in numpy 1.26.", "cpu@numpy-1.26.4"),
        ("It works fine with numpy 2.2.1, and fails with numpy 2.4.0.", "cpu@numpy-2.2.1"),
        ("numpy 2.5 works.", "cpu@numpy-2.5.0"),
        # No node has it: the next in the order.
        ("It worked in numpy 1.19.", "cpu@numpy-2.3.5"),
        # A version of another package.
        ("It worked in pandas 2.2.", "cpu@numpy-2.3.5"),
    ],
)
def test_a_version_that_the_report_calls_working_comes_first(words: str, label: str) -> None:
    assert chosen(report(words), *ALL) == label


def test_what_ran_already_is_no_contrast() -> None:
    assert chosen(report("Wrong."), *ALL, ran=("numpy-2.3.5",)) == "cpu@numpy-2.2.1"
    assert chosen(report("Wrong."), *ALL[:1]) is None


def test_a_newer_version_is_tried_where_there_is_no_older_one() -> None:
    assert chosen(report("Wrong."), *ALL, seen="numpy-1.26.4", ran=("numpy-2.2.1",)) == "cpu@numpy-2.3.5"


def test_only_toolchains_that_are_ready_are_cheap() -> None:
    locked = (chain("2.3.5", state="locked"), chain("2.2.1", state="failed"))
    assert chosen(report("Wrong."), chain("2.4.0"), *locked) is None
    assert chosen(report("Wrong."), chain("2.4.0"), *locked, chain("1.26.4")) == "cpu@numpy-1.26.4"


def test_the_toolchain_that_differs_in_fewest_packages_is_taken() -> None:
    far, near = chain("2.3.5", scipy="1.10"), chain("2.3.5").model_copy(update={"name": "numpy-near"})
    assert chosen(report("Wrong."), chain("2.4.0"), far, near) == "cpu@numpy-near"


def test_the_version_of_another_package_is_no_contrast() -> None:
    others = [
        facts.model_copy(update={"name": f"scipy-{number}", "packages": {"numpy": "2.4.0", "scipy": number}})
        for number, facts in (("1.10", chain("2.4.0")), ("1.11", chain("2.4.0")))
    ]
    assert chosen(report("Wrong."), chain("2.4.0"), *others) is None


def test_a_compiled_script_is_tried_uncompiled() -> None:
    chains = (chain("2.13.0", package="torch"), chain("2.1.0", package="torch"))
    text = report("Wrong.", COMPILED).replace("# numpy", "# torch")
    assert chosen(text, *chains, seen="torch-2.13.0") == "cpu@torch-2.13.0:compile=eager"
    assert chosen(text, *chains, seen="torch-2.13.0", settings={"compile": "inductor"}) == (
        "cpu@torch-2.1.0:compile=inductor"
    )
    worked = report("It worked with torch 2.1.", COMPILED).replace("# numpy", "# torch")
    assert chosen(worked, *chains, seen="torch-2.13.0") == "cpu@torch-2.1.0"


def test_runs_that_name_their_cells_get_none() -> None:
    plan = Plan((), RepeatPlan(5), "quick")
    assert may_have_contrast_cell(plan, PRESETS["quick"])
    assert may_have_contrast_cell(plan, PRESETS["determinism"])
    assert not may_have_contrast_cell(plan, None)
    assert not may_have_contrast_cell(plan, PRESETS["version"])
    assert not may_have_contrast_cell(plan, PRESETS["full"])
    assert not may_have_contrast_cell(plan, Preset(name="mine", summary="", own=True))
    excluding = Plan((), RepeatPlan(5), "quick", left_out=(("cuda", 0),), is_closed=True)
    assert not may_have_contrast_cell(excluding, PRESETS["quick"])
