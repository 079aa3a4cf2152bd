"""Plans over a fleet: which cells there are, on which toolchain, and why some can't be served."""

from __future__ import annotations

from typing import Any

import pytest
from default_limits import read
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InputError
from app.intake.reading import Reading
from app.targets.fleet import can_serve, is_meant, nearest_lack, resolve_toolchain
from app.targets.parse import parse_target
from app.targets.planning.plan import Plan, make_plan
from app.targets.planning.presets import PRESETS
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target
from worker.contract import Device, Gpu, Hello, Level, ToolchainFacts

ALL_ISA = ["avx2", "sse4.2", "compatible"]


def toolchain(
    name: str, *, torch: str | None = "2.13.0", cuda: str | None = None, mkl: bool = True, **fields: Any
) -> ToolchainFacts:
    facts: dict[str, Any] = {"state": "ready", "cpu_isa": ALL_ISA if mkl else [], **fields}
    return ToolchainFacts(name=name, torch=torch, cuda_build=cuda, mkl=mkl, **facts)


CPU_BUILD = toolchain("torch-2.13-cpu", torch="2.13.0+cpu")
CUDA_BUILD = toolchain("torch-2.13-cu130", torch="2.13.0+cu130", cuda="13.0")
OLD_BUILD = toolchain("torch-2.3-cpu", torch="2.3.1+cpu")


def node(
    *toolchains: ToolchainFacts,
    gpus: int = 0,
    capability: str = "9.0",
    level: Level = Level.NAMESPACES,
    **fields: Any,
) -> Hello:
    cards = [
        Gpu(index=at, model="H100", memory_bytes=80, capability=capability, driver="580")
        for at in range(gpus)
    ]
    return Hello(
        node="n",
        instance="i",
        slots=2,
        level=level,
        gpus=cards,
        toolchains=list(toolchains),
        cpu_flags=["avx2"],
        **fields,
    )


CPU_NODE = node(CPU_BUILD, OLD_BUILD)
GPU_NODE = node(CPU_BUILD, CUDA_BUILD, gpus=2)


def reading(*scripts: str) -> Reading:
    blocks = "\n\n".join(f"```python\n{script}\n```" for script in scripts)
    return read(blocks, form="report")


ONE = reading("print(1)")


def planned(
    *targets: str, fleet: tuple[Hello, ...] = (GPU_NODE,), report: Reading = ONE, **options: Any
) -> Plan:
    request = RunRequest(
        targets=tuple(map(parse_target, targets)) or None,
        **{
            name: options.pop(name) for name in ("preset", "repeats", "include", "exclude") if name in options
        },
    )
    return make_plan(
        report,
        request,
        fleet=fleet,
        required_level=options.pop("required_level", Level.NAMESPACES),
        **options,
    )


def labels(of: Plan) -> list[str]:
    return [cell.target.label() for cell in of.cells]


def codes(of: Plan) -> list[str | None]:
    return [cell.reason.code if cell.reason else None for cell in of.cells]


def test_quick_is_the_newest_toolchain_on_each_device_there_is() -> None:
    assert labels(planned(fleet=(CPU_NODE,))) == ["cpu@torch-2.13-cpu"]
    assert labels(planned(fleet=(CPU_NODE, GPU_NODE))) == ["cpu@torch-2.13-cpu", "cuda@torch-2.13-cu130"]
    assert planned().preset == "quick"


def test_cpu_isa_lays_its_settings_over_each_device() -> None:
    cells = labels(planned(preset="cpu-isa"))
    settings = ["", ":cpu-isa=avx2", ":cpu-isa=compatible", ":cpu-isa=sse4.2"]
    assert cells == [f"cpu@torch-2.13-cpu{each}" for each in settings] + [
        f"cuda@torch-2.13-cu130{each}" for each in settings
    ]


def test_determinism_has_three_cells_a_device() -> None:
    assert labels(planned(preset="determinism", fleet=(CPU_NODE,))) == [
        "cpu@torch-2.13-cpu",
        "cpu@torch-2.13-cpu:deterministic",
        "cpu@torch-2.13-cpu:threads=1",
    ]


def test_a_script_that_takes_unwritten_memory_gets_a_cell_in_which_it_is_filled() -> None:
    report = reading("import torch; print(torch.empty(4).sum())", "import torch; print(torch.zeros(4).sum())")
    first, second = (script.digest for script in report.scripts)
    cells = [(cell.script, cell.target.label()) for cell in planned(fleet=(CPU_NODE,), report=report).cells]
    assert cells == [
        (first, "cpu@torch-2.13-cpu"),
        (second, "cpu@torch-2.13-cpu"),
        (first, "cpu@torch-2.13-cpu:fill=nan"),
    ]
    assert labels(planned("cpu", report=reading("import torch; torch.empty(4)"))) == ["cpu@torch-2.13-cpu"]


def test_a_claim_that_repeats_differ_gets_a_cell_under_deterministic_algorithms() -> None:
    said = "\n\nIt gives another result every time."
    report = read("```python\nimport torch\nprint(torch.ones(3).cumsum(0))\n```" + said, form="report")
    both = labels(planned(report=report))
    cpu, cuda = (
        [where, f"{where}:deterministic", f"{where}:threads=1"]
        for where in ("cpu@torch-2.13-cpu", "cuda@torch-2.13-cu130")
    )
    assert sorted(both) == [*cpu, *cuda]
    assert labels(planned(report=report, preset="determinism", fleet=(CPU_NODE,))) == cpu
    unseeded = read("```python\nimport torch\nprint(torch.rand(3))\n```" + said, form="report")
    assert labels(planned(report=unseeded, fleet=(CPU_NODE,))) == [
        "cpu@torch-2.13-cpu",
        "cpu@torch-2.13-cpu:fix=torch",
        "cpu@torch-2.13-cpu:threads=1",
    ]


def test_cheap_cells_come_first() -> None:
    assert labels(planned("cuda*2", "cuda", "cpu:threads=1", "cpu")) == [
        "cpu@torch-2.13-cpu",
        "cpu@torch-2.13-cpu:threads=1",
        "cuda@torch-2.13-cu130",
        "cuda*2@torch-2.13-cu130",
    ]


def test_each_script_that_is_run_gets_its_cells_and_equal_cells_are_one() -> None:
    report = reading("print(1)", "print(2)", "print(1)")
    assert len(report.scripts) == 2
    cells = planned("cpu", "cpu@torch-2.13", "cpu@torch-2.13-cpu", report=report).cells
    assert [cell.script for cell in cells] == [script.digest for script in report.scripts]


def test_parts_are_not_run() -> None:
    report = read(
        "In short:\n```python\nloss = net(batch)\n```\nIn full:\n```python\nprint(1)\n```", form="report"
    )
    assert len(report.scripts) == 2
    assert [cell.script for cell in planned("cpu", report=report).cells] == [report.scripts[0].digest]


@pytest.mark.parametrize(
    ("target", "fleet", "code"),
    [
        ("cpu", (), "no_node"),
        ("cuda", (CPU_NODE,), "no_gpu"),
        ("cuda*3", (GPU_NODE,), "too_few_gpus"),
        ("cuda/sm80", (GPU_NODE,), "no_such_gpu"),
        ("cuda/sm90", (GPU_NODE,), None),
        ("cuda*2/sm90", (GPU_NODE,), None),
        ("cuda", (node(CPU_BUILD, gpus=1),), "no_toolchain"),
        ("cuda@torch-2.13-cpu", (GPU_NODE,), "no_cuda_build"),
        ("cuda@torch-2.3", (node(CUDA_BUILD, OLD_BUILD, gpus=1),), "no_cuda_build"),
        ("cpu", (node(level=Level.NAMESPACES),), "no_toolchain"),
        ("cpu", (node(CPU_BUILD, level=Level.LIMITS_ONLY),), "level_too_weak"),
        ("cpu", (node(CPU_BUILD, level=Level.NAMESPACES_CGROUP),), None),
        ("cpu:cpu-isa=avx2", (node(toolchain("torch-2.13-cpu", mkl=False)),), "no_mkl"),
        ("cpu:cpu-isa=avx2", (CPU_NODE.model_copy(update={"cpu_flags": ["sse4_2"]}),), "isa_not_supported"),
        (
            "cpu:cpu-isa=avx2",
            (node(toolchain("torch-2.13-cpu", cpu_isa=["compatible"])),),
            "setting_without_effect",
        ),
        ("cpu:cpu-isa=compatible", (node(toolchain("torch-2.13-cpu", cpu_isa=["compatible"])),), None),
        ("cpu:threads=1", (CPU_NODE,), None),
        ("cpu@torch-2.13-cpu", (node(toolchain("torch-2.13-cpu", state="building")), CPU_NODE), None),
    ],
)
def test_a_target_that_nobody_serves_is_a_cell_with_a_reason(
    target: str, fleet: tuple[Hello, ...], code: str | None
) -> None:
    assert codes(planned(target, fleet=fleet)) == [code]


def test_the_node_that_comes_nearest_says_why() -> None:
    fleet = (CPU_NODE, node(CUDA_BUILD, gpus=1))
    assert codes(planned("cuda*2", fleet=fleet)) == ["too_few_gpus"]


def test_reasons_say_who_can_act_and_quote_nothing() -> None:
    reason = planned("cuda", fleet=(CPU_NODE,)).cells[0].reason
    assert reason is not None
    assert reason.who_can_act == "operator"
    assert "torch-2.13" not in reason.detail


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"preset": "nonsense"}, "unknown_preset"),
        ({"repeats": 0}, "bad_repeats"),
        ({"repeats": 251}, "bad_repeats"),
        ({"most_cells": 1}, "too_many_cells"),
    ],
)
def test_what_cannot_be_planned_is_refused(options: dict[str, Any], code: str) -> None:
    with pytest.raises(InputError) as error:
        planned(**options)
    assert error.value.code == code


def test_an_unknown_preset_or_toolchain_lists_what_exists() -> None:
    with pytest.raises(InputError) as error:
        planned(preset="nonsense")
    assert all(name in error.value.message for name in PRESETS)
    for name in ("torch-9", "torch-2.1"):
        with pytest.raises(InputError) as error:
            planned(f"cpu@{name}")
        assert error.value.code == "unknown_toolchain"
        assert "torch-2.13-cpu, torch-2.13-cu130" in error.value.message


def test_a_preset_and_targets_exclude_each_other() -> None:
    with pytest.raises(InputError) as error:
        planned("cpu", preset="quick")
    assert error.value.code == "preset_or_targets"


def test_explicit_repeats_are_exact() -> None:
    assert (planned("cpu").repeats.at_most, planned("cpu").repeats.exact) == (5, False)
    assert (planned("cpu", repeats=250).repeats.at_most, planned("cpu", repeats=250).repeats.exact) == (
        250,
        True,
    )


@pytest.mark.parametrize(
    ("wanted", "device", "name"),
    [
        ("", Device.CPU, "torch-2.13-cpu"),
        ("", Device.CUDA, "torch-2.13-cu130"),
        ("torch-2.13", Device.CPU, "torch-2.13-cpu"),
        ("torch-2.13", Device.CUDA, "torch-2.13-cu130"),
        ("torch-2", Device.CPU, "torch-2.13-cpu"),
        ("torch-2.3", Device.CPU, "torch-2.3-cpu"),
        ("torch-2.13-cu130", Device.CPU, "torch-2.13-cu130"),
        ("torch-2.1", Device.CPU, None),
        ("torch-2.3", Device.CUDA, None),
    ],
)
def test_a_toolchain_is_found_by_how_its_name_begins(wanted: str, device: Device, name: str | None) -> None:
    fleet = (CPU_NODE, GPU_NODE)
    assert (
        resolve_toolchain(fleet, Target(device=device, gpus=int(device is Device.CUDA), toolchain=wanted))
        == name
    )


def test_the_newest_that_can_be_served_is_meant() -> None:
    weak = node(toolchain("torch-2.14-cpu", torch="2.14.0"), level=Level.LIMITS_ONLY)
    assert labels(planned("cpu", fleet=(weak, CPU_NODE))) == ["cpu@torch-2.13-cpu"]
    assert labels(planned("cpu", fleet=(weak,))) == ["cpu@torch-2.14-cpu"]
    assert resolve_toolchain((weak, CPU_NODE), Target()) == "torch-2.14-cpu"


def test_a_setting_does_not_change_which_toolchain_is_meant() -> None:
    newest = node(toolchain("torch-2.14-cpu", torch="2.14.0", mkl=False), CPU_BUILD)
    assert labels(planned("cpu", "cpu:cpu-isa=avx2", fleet=(newest,))) == [
        "cpu@torch-2.14-cpu",
        "cpu@torch-2.14-cpu:cpu-isa=avx2",
    ]
    assert codes(planned("cpu", "cpu:cpu-isa=avx2", fleet=(newest,))) == [None, "no_mkl"]


def test_a_release_is_newer_than_its_candidates_and_odd_versions_are_oldest() -> None:
    odd = node(toolchain("a", torch="master"), toolchain("b", torch="2.9.0"), toolchain("c", torch="2.10.0"))
    assert resolve_toolchain((odd,), Target()) == "c"


@pytest.mark.parametrize(
    ("name", "wanted", "meant"),
    [
        ("torch-2.13-cpu", "torch-2.13", True),
        ("torch-2.13-cpu", "torch-2.1", False),
        ("x", "", True),
        ("x", "x", True),
        ("xy", "x", False),
    ],
)
def test_names_begin_at_a_boundary(name: str, wanted: str, *, meant: bool) -> None:
    assert is_meant(name, wanted) is meant


FLEETS = st.lists(
    st.builds(
        lambda chains, gpus, level: node(*chains, gpus=gpus, level=level),
        st.lists(
            st.sampled_from([CPU_BUILD, CUDA_BUILD, OLD_BUILD]),
            unique_by=lambda facts: facts.name,
            max_size=3,
        ),
        st.integers(0, 3),
        st.sampled_from(list(Level)),
    ),
    max_size=3,
).map(tuple)
WANTED = st.lists(
    st.sampled_from(["cpu", "cuda", "cuda*2", "cpu:threads=1", "cpu:cpu-isa=avx2", "cpu:deterministic"]),
    min_size=1,
    max_size=6,
)


@given(WANTED, FLEETS, st.sampled_from(list(Level)))
def test_a_cell_has_a_reason_exactly_where_no_node_serves_it(
    wanted: list[str], fleet: tuple[Hello, ...], level: Level
) -> None:
    made = planned(*wanted, fleet=fleet, required_level=level)
    assert len(set(labels(made))) == len(made.cells) == len(set(wanted))
    for cell in made.cells:
        served = any(can_serve(hello, cell.target, required_level=level) is None for hello in fleet)
        assert (cell.reason is None) is served
        assert nearest_lack(fleet, cell.target, required_level=level) is None or not served


@given(WANTED, FLEETS, st.randoms(use_true_random=False))
def test_neither_the_order_of_targets_nor_of_nodes_changes_the_cells(
    wanted: list[str], fleet: tuple[Hello, ...], random: Any
) -> None:
    other = planned(*random.sample(wanted, len(wanted)), fleet=tuple(random.sample(fleet, len(fleet))))
    this = planned(*wanted, fleet=fleet)
    assert {(cell.target.label(), cell.reason) for cell in other.cells} == {
        (cell.target.label(), cell.reason) for cell in this.cells
    }
    assert [cell.target.gpus for cell in this.cells] == sorted(cell.target.gpus for cell in this.cells)


def test_a_claimed_gap_between_cpu_and_card_gets_a_cell_without_tf32_on_the_card() -> None:
    report = read(
        "```python\nimport torch\nprint(torch.nn.Conv2d(1, 1, 3))\n```\n\nCPU and GPU results differ.",
        form="report",
    )
    plain = ["cpu@torch-2.13-cpu", "cuda@torch-2.13-cu130"]
    assert labels(planned(report=report)) == [*plain, "cuda@torch-2.13-cu130:tf32=off"]
    sums = read(
        "```python\nimport torch\nprint(torch.ones(3).sum())\n```\n\nCPU and GPU results differ.",
        form="report",
    )
    assert labels(planned(report=sums)) == [*plain, "cuda@torch-2.13-cu130:trace=on"]


ON_CARD_TRACED = "cuda@torch-2.13-cu130:trace=on"


@pytest.mark.parametrize(
    ("script", "claim", "traced"),
    [
        ("print(torch.ones(3).sum().item())", "cpu 3.0\ncuda 3.5", [ON_CARD_TRACED]),
        (
            "print(torch.cos(torch.ones(3))[-1].item())",
            "the last value is 0.54, expected 0.55",
            ["cpu@torch-2.13-cpu:trace=on", "cuda@torch-2.13-cu130:trace=on"],
        ),
        ("print(torch.rand(3).sum().item())", "CPU and GPU results differ", []),
        ("raise ValueError(3)", "ValueError: 3", []),
        ("print('a')", "Segmentation fault", []),
    ],
)
def test_numbers_that_are_said_to_be_wrong_are_traced(script: str, claim: str, traced: list[str]) -> None:
    report = read(f"import torch\n{script}\n", form="script", claim=claim)
    assert [label for label in labels(planned(report=report)) if "trace" in label] == traced


def test_a_script_without_torch_has_no_operations_to_trace() -> None:
    script = "import numpy\nprint(numpy.cos(1.0))\n"
    report = read(script, form="script", claim="the last value is 0.54, expected 0.55")
    assert not [label for label in labels(planned(report=report)) if "trace" in label]
