"""The toolchains of a run: versions, the reporter's nearest, kernels for the card, added packages."""

from __future__ import annotations

from typing import Any

import pytest
from default_limits import read

from app.intake.reading import Reading
from app.targets.fleet import can_serve, has_kernels, usable_toolchains
from app.targets.parse import parse_target
from app.targets.planning.plan import Plan, make_plan
from app.targets.planning.run_request import RunRequest
from worker.contract import Gpu, Hello, Level, ToolchainFacts

KERNELS = ["sm_75", "sm_80", "sm_86", "sm_90"]


def toolchain(
    name: str, packages: str = "", *, state: str = "ready", cuda: str | None = None, **fields: Any
) -> ToolchainFacts:
    found = dict(pair.split("==") for pair in packages.split())
    return ToolchainFacts.model_validate(
        {
            "name": name,
            "state": state,
            "packages": found,
            "torch": found.get("torch"),
            "cuda_build": cuda,
            **fields,
        }
    )


def node(
    *toolchains: ToolchainFacts,
    cards: tuple[str, ...] = (),
    allowed: tuple[str, ...] = (),
    builds: bool = True,
) -> Hello:
    gpus = [
        Gpu(index=at, model="card", memory_bytes=80, capability=capability, driver="580")
        for at, capability in enumerate(cards)
    ]
    return Hello(
        node="n",
        instance="i",
        slots=2,
        level=Level.NAMESPACES,
        gpus=gpus,
        toolchains=list(toolchains),
        packages_allowed=list(allowed),
        builds=builds,
    )


def report(imports: str, said: str = "") -> Reading:
    return read(f"```python\nimport {imports}\nprint(1)\n```\n\n{said}\n", form="report")


def planned(fleet: Hello, reading: Reading, *targets: str, preset: str | None = None) -> Plan:
    request = RunRequest(preset=preset, targets=tuple(map(parse_target, targets)) or None)
    return make_plan(reading, request, fleet=[fleet], required_level=Level.NAMESPACES)


def cells(of: Plan) -> list[tuple[str, str | None]]:
    return [(cell.target.label(), cell.reason.code if cell.reason else None) for cell in of.cells]


TORCHES = (
    toolchain("torch-2.11-cpu", "torch==2.11.0+cpu numpy==2.1.0"),
    toolchain("torch-2.12-cpu", "torch==2.12.0+cpu numpy==2.2.0", state="locked"),
    toolchain("torch-2.13-cpu", "torch==2.13.0+cpu numpy==2.4.0"),
)
NUMPIES = tuple(
    toolchain(f"numpy-{version}", f"numpy=={version}") for version in ("1.26.4", "2.0.2", "2.4.0")
)


@pytest.mark.parametrize(
    ("capability", "kernels", "runs"),
    [
        ("9.0", KERNELS, True),
        ("8.9", KERNELS, True),
        ("8.9", ["sm_80"], True),
        ("7.0", KERNELS, False),
        ("10.0", KERNELS, False),
        ("10.0", ["sm_90", "compute_90"], True),
        ("8.6", ["sm_90", "compute_90"], False),
        ("9.0", ["sm_90a"], True),
        ("9.1", ["sm_90a"], False),
        ("10.3", ["sm_100f"], True),
        ("12.0", ["sm_100f"], False),
        ("12.0", ["sm_120"], True),
        ("8.0", ["sm_86"], False),
        ("9.0", [], True),
        ("9.0", ["of a later form"], True),
        ("unknown", KERNELS, True),
    ],
)
def test_which_cards_kernels_run_on(capability: str, kernels: list[str], *, runs: bool) -> None:
    assert has_kernels(kernels, capability) is runs


def test_a_build_without_kernels_for_the_card_is_a_cell_with_that_reason() -> None:
    old = toolchain("torch-2.1-cu118", "torch==2.1.0", cuda="11.8", kernels=["sm_80", "sm_86", "sm_90"])
    new = toolchain("torch-2.13-cu130", "torch==2.13.0", cuda="13.0", kernels=["sm_90", "sm_100"])
    fleet = node(old, new, cards=("10.0",))
    assert cells(planned(fleet, report("torch"), preset="versions")) == [
        ("cpu@torch-2.13-cu130", None),
        ("cpu@torch-2.1-cu118", None),
        ("cuda@torch-2.13-cu130", None),
        ("cuda@torch-2.1-cu118", "no_kernels_for_card"),
    ]
    # The newest that has kernels is what a bare `cuda` means.
    assert cells(planned(node(old, new, cards=("8.6",)), report("torch"), "cuda")) == [
        ("cuda@torch-2.1-cu118", None)
    ]


def test_as_many_cards_are_needed_as_have_kernels() -> None:
    build = toolchain("torch-2.13-cu130", "torch==2.13.0", cuda="13.0", kernels=["sm_90"])
    mixed = node(build, cards=("9.0", "7.0"))
    for target, code in (("cuda@torch-2.13-cu130", None), ("cuda*2@torch-2.13-cu130", "no_kernels_for_card")):
        reason = can_serve(mixed, parse_target(target), required_level=Level.NAMESPACES)
        assert (reason and reason.code) == code


def test_an_import_finds_the_package_whose_name_has_other_signs() -> None:
    fleet = node(TORCHES[2], allowed=("chinesecalendar", "other"))
    assert cells(planned(fleet, report("chinese_calendar"))) == [("cpu@torch-2.13-cpu+chinesecalendar", None)]


def test_versions_are_all_toolchains_that_have_what_is_imported() -> None:
    fleet = node(*TORCHES, *NUMPIES)
    torch = ["cpu@torch-2.13-cpu", "cpu@torch-2.12-cpu", "cpu@torch-2.11-cpu"]
    numpy = ["cpu@numpy-2.4.0", "cpu@numpy-2.0.2", "cpu@numpy-1.26.4"]
    assert [label for label, _ in cells(planned(fleet, report("torch"), preset="versions"))] == torch
    assert [label for label, _ in cells(planned(fleet, report("numpy"), preset="versions"))] == torch + numpy
    assert [label for label, _ in cells(planned(fleet, report("json"), preset="versions"))] == torch + numpy
    assert cells(planned(node(), report("torch"), preset="versions")) == [("cpu", "no_toolchain")]


def test_one_that_is_not_built_counts_where_the_node_builds_it() -> None:
    assert set(usable_toolchains([node(*TORCHES)])) == {facts.name for facts in TORCHES}
    assert "torch-2.12-cpu" not in usable_toolchains([node(*TORCHES, builds=False)])
    ready = toolchain("torch-2.12-cpu", "torch==2.12.0+cpu")
    for fleet in ([node(*TORCHES), node(ready)], [node(ready), node(*TORCHES)]):
        assert usable_toolchains(fleet)["torch-2.12-cpu"].state == "ready"


@pytest.mark.parametrize(
    ("said", "nearest"),
    [
        ("PyTorch version: 2.12.1", "torch-2.12-cpu"),
        ("PyTorch version: 2.11.0", "torch-2.11-cpu"),
        ("PyTorch version: 1.13.1", "torch-2.11-cpu"),
        ("PyTorch version: 2.14.0.dev20260801+cu130", None),
        ("PyTorch version: 2.13.0+cu126", None),
        ("", None),
    ],
)
def test_what_is_nearest_to_the_reporters_is_run_beside_the_newest(said: str, nearest: str | None) -> None:
    expected = ["cpu@torch-2.13-cpu", *([f"cpu@{nearest}"] if nearest else [])]
    assert [label for label, _ in cells(planned(node(*TORCHES), report("torch", said)))] == expected
    assert cells(planned(node(*TORCHES), report("torch", said), "cpu@torch-2.13")) == [
        ("cpu@torch-2.13-cpu", None)
    ]


def test_numpy_counts_where_torch_is_not_used() -> None:
    fleet = node(*NUMPIES)
    assert [label for label, _ in cells(planned(fleet, report("numpy", "I use numpy 2.0.1.")))] == [
        "cpu@numpy-2.4.0",
        "cpu@numpy-2.0.2",
    ]
    assert [label for label, _ in cells(planned(fleet, report("json", "I use numpy 2.0.1.")))] == [
        "cpu@numpy-2.4.0"
    ]


def test_packages_that_are_missing_are_added_where_a_node_allows_them() -> None:
    fleet = node(*TORCHES, allowed=("einops", "scikit-learn", "numpy"))
    assert cells(planned(fleet, report("torch, einops, sklearn, numpy, os"))) == [
        ("cpu@torch-2.13-cpu+einops+scikit-learn", None)
    ]
    # A package that nobody adds is left to the attempt, which then says that it is missing.
    assert cells(planned(fleet, report("torch, einops, requests"))) == [("cpu@torch-2.13-cpu+einops", None)]
    assert cells(planned(node(*TORCHES), report("torch, einops"))) == [("cpu@torch-2.13-cpu", None)]
    assert cells(planned(fleet, report("torch, einops"), "cpu@torch-2.11")) == [
        ("cpu@torch-2.11-cpu+einops", None)
    ]


def test_what_was_added_for_one_report_is_not_what_another_means() -> None:
    layered = toolchain(
        "torch-2.13-cpu+zarr", "torch==2.13.0+cpu numpy==2.4.0 zarr==3.0", base="torch-2.13-cpu"
    )
    fleet = node(*TORCHES, layered, allowed=("zarr",))
    for reading, label in (
        (report("torch"), "cpu@torch-2.13-cpu"),
        (report("torch, zarr"), "cpu@torch-2.13-cpu+zarr"),
    ):
        assert cells(planned(fleet, reading)) == [(label, None)]
    assert cells(planned(fleet, report("torch"), "cpu@torch-2.13-cpu+zarr")) == [
        ("cpu@torch-2.13-cpu+zarr", None)
    ]


def test_packages_that_could_not_be_added_are_not_asked_for_again() -> None:
    failed = toolchain("torch-2.13-cpu+einops", state="failed")
    fleet = node(*TORCHES, failed, allowed=("einops",))
    assert cells(planned(fleet, report("torch, einops"))) == [("cpu@torch-2.13-cpu", None)]
    building = toolchain("torch-2.13-cpu+einops", state="building")
    assert cells(planned(node(*TORCHES, building, allowed=("einops",)), report("torch, einops"))) == [
        ("cpu@torch-2.13-cpu+einops", None)
    ]
