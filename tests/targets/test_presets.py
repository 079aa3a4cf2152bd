"""Presets over a fleet, what is added and left out, and what is said of too many cells."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from targets.test_plan import (
    CPU_BUILD,
    CUDA_BUILD,
    GPU_NODE,
    OLD_BUILD,
    codes,
    labels,
    node,
    planned,
    reading,
    toolchain,
)

from app.errors import InputError
from app.targets.parse import parse_target
from app.targets.pattern import parse_exclusion, parse_inclusion
from app.targets.planning.presets import PRESETS, preset_named
from app.targets.planning.site_presets import presets_in
from worker.contract import Gpu, Hello

BOTH = (node(CPU_BUILD, OLD_BUILD, CUDA_BUILD, gpus=1),)


def two_kinds() -> tuple[Hello, ...]:
    cards = {
        name: [Gpu(index=0, model=name, memory_bytes=80, capability=name, driver="580")]
        for name in ("8.0", "9.0")
    }
    return tuple(
        node(CPU_BUILD, CUDA_BUILD).model_copy(update={"gpus": gpus, "node": name})
        for name, gpus in cards.items()
    )


def refused(**options: Any) -> InputError:
    with pytest.raises(InputError) as error:
        planned(**options)
    return error.value


def test_every_preset_of_the_contract_is_there() -> None:
    assert {"quick", "device", "version", "determinism", "cpu-isa", "full"} <= set(PRESETS)
    assert preset_named("versions") is preset_named("version")
    assert planned(preset="versions", fleet=BOTH).preset == "version"


def test_device_has_a_cell_for_each_kind_of_card() -> None:
    assert labels(planned(preset="device", fleet=two_kinds())) == [
        "cpu@torch-2.13-cpu",
        "cuda/sm80@torch-2.13-cu130",
        "cuda/sm90@torch-2.13-cu130",
    ]
    assert codes(planned(preset="device", fleet=two_kinds())) == [None] * 3
    # With one kind only, the cell equals that of quick.
    assert labels(planned(preset="device", fleet=BOTH)) == labels(planned(preset="quick", fleet=BOTH))


RANKS = reading("import torch\nprint(torch.ones(2, device='cuda:1').to('cuda:0'))")


@pytest.mark.parametrize(
    ("fleet", "cell"),
    [
        ((GPU_NODE,), "cuda*2@torch-2.13-cu130"),
        # No node has so many: the attempt on one card says why that is too few.
        (BOTH, "cuda@torch-2.13-cu130"),
        ((*BOTH, GPU_NODE), "cuda*2@torch-2.13-cu130"),
    ],
)
def test_a_script_gets_the_cards_that_it_needs(fleet: tuple[Hello, ...], cell: str) -> None:
    assert labels(planned(fleet=fleet, report=RANKS)) == ["cpu@torch-2.13-cpu", cell]
    assert codes(planned(fleet=fleet, report=RANKS)) == [None] * 2
    # Whoever names a target gets that one.
    assert labels(planned("cuda", fleet=fleet, report=RANKS)) == ["cuda@torch-2.13-cu130"]
    assert labels(planned(fleet=fleet)) == ["cpu@torch-2.13-cpu", "cuda@torch-2.13-cu130"]


def test_each_kind_of_card_has_to_have_enough_of_them() -> None:
    few, many = two_kinds()[0], node(CPU_BUILD, CUDA_BUILD, gpus=2)
    assert labels(planned(preset="device", fleet=(few, many), report=RANKS))[1:] == [
        "cuda/sm80@torch-2.13-cu130",
        "cuda*2/sm90@torch-2.13-cu130",
    ]


def test_full_is_everything_that_can_mean_something() -> None:
    found = labels(planned(preset="full", fleet=BOTH, report=reading("import torch\nprint(torch.ones(2))")))
    assert {
        f"cpu@{name}:cpu-isa=sse4.2" for name in ("torch-2.13-cpu", "torch-2.3-cpu", "torch-2.13-cu130")
    } <= set(found)
    assert {
        "cuda@torch-2.13-cu130:tf32=off",
        "cuda@torch-2.13-cu130:fill=nan",
        "cpu@torch-2.3-cpu:threads=1",
    } <= set(found)
    assert not any(label.startswith("cpu") and "tf32" in label for label in found)
    assert not any(label.startswith("cuda") and "cpu-isa" in label for label in found)
    assert set(codes(planned(preset="full", fleet=BOTH))) == {None}


@pytest.mark.parametrize("preset", PRESETS)
def test_quick_is_in_every_preset_and_no_cell_is_there_twice(preset: str) -> None:
    found = labels(planned(preset=preset, fleet=BOTH))
    assert set(labels(planned(preset="quick", fleet=BOTH))) <= set(found)
    assert len(set(found)) == len(found)


def test_what_is_included_is_added_and_what_is_excluded_is_left_out() -> None:
    made = planned(preset="quick", fleet=BOTH, include=["cuda@torch-2.13:deterministic=on"], exclude=["cpu"])
    assert labels(made) == ["cuda@torch-2.13-cu130", "cuda@torch-2.13-cu130:deterministic"]
    assert made.left_out == (("cpu", 1),)
    isa = planned(preset="cpu-isa", fleet=BOTH, exclude=["cpu:*", "cuda:cpu-isa=*"])
    assert labels(isa) == ["cpu@torch-2.13-cpu", "cuda@torch-2.13-cu130"]
    assert isa.left_out == (("cpu:*", 3), ("cuda:cpu-isa=*", 3))
    assert planned(fleet=BOTH, exclude=["cuda*4"]).left_out == (("cuda*4", 0),)


def test_a_star_is_each_device_or_each_toolchain_of_the_fleet() -> None:
    assert labels(planned("cpu", fleet=BOTH, include=["*@*:threads=1"])) == [
        "cpu@torch-2.13-cpu",
        *(f"cpu@{name}:threads=1" for name in ("torch-2.13-cpu", "torch-2.13-cu130", "torch-2.3-cpu")),
        "cuda@torch-2.13-cu130:threads=1",
    ]


def test_an_exclude_speaks_of_the_toolchain_that_is_meant() -> None:
    assert labels(planned("cpu", "cpu@torch-2.3", fleet=BOTH, exclude=["*@torch-2.13"])) == [
        "cpu@torch-2.3-cpu"
    ]


def test_a_cell_that_tests_for_a_cause_is_left_out_too() -> None:
    report = reading("import torch; print(torch.empty(4).sum())")
    assert "cpu@torch-2.13-cpu:fill=nan" in labels(planned(fleet=BOTH, report=report))
    assert not any(
        "fill" in label for label in labels(planned(fleet=BOTH, report=report, exclude=["*:fill=*"]))
    )


@pytest.mark.parametrize(
    ("options", "code", "field", "words"),
    [
        ({"exclude": ["*"]}, "bad_pattern", "exclude", "every cell"),
        ({"exclude": ["gpu"]}, "bad_pattern", "exclude", "cpu:*"),
        ({"exclude": ["cpu:sped=1"]}, "unknown_setting", "exclude", "threads"),
        ({"exclude": ["cpu:sped=*"]}, "unknown_setting", "exclude", "threads"),
        ({"exclude": ["cpu*2"]}, "bad_target", "exclude", "no GPU"),
        ({"exclude": ["cuda/hopper"]}, "bad_target", "exclude", "sm90"),
        ({"include": ["cpu:*"]}, "bad_pattern", "include", "value"),
        ({"include": ["cpu:threads=*"]}, "bad_pattern", "include", "value"),
        ({"include": ["cpu@torch-9"]}, "unknown_toolchain", "toolchain", "torch-2.13-cpu"),
        ({"exclude": ["cpu", "cuda"]}, "nothing_left", "exclude", "cpu and cuda"),
        ({"include": ["cuda@" + "x" * 300]}, "bad_pattern", "include", "DEVICE"),
    ],
)
def test_a_pattern_that_cannot_be_meant(options: dict[str, Any], code: str, field: str, words: str) -> None:
    error = refused(fleet=BOTH, **options)
    assert (error.code, error.field) == (code, field)
    assert words in error.message


def test_too_many_cells_says_what_was_asked_and_how_to_make_it_smaller() -> None:
    chains = [toolchain(f"torch-2.{minor}-cpu", torch=f"2.{minor}.0") for minor in range(60)]
    fleet = (node(*chains, CUDA_BUILD, gpus=1),)
    error = refused(preset="full", fleet=fleet)
    assert error.code == "too_many_cells"
    whole = 61 * 7 + 5
    assert all(
        words in error.message for words in ("preset full", f"{whole} cells", "61 toolchains", "at most 400")
    )
    named = [part.split()[0] for part in error.message.split("exclude ")[1].split(", or ")]
    assert len(named) == 3
    for pattern in named:
        assert len(planned(preset="full", fleet=fleet, exclude=[pattern]).cells) <= 400
    many = refused(preset="full", fleet=fleet, most_cells=1)
    assert "several" in many.message


OWN = """
[presets.nightly]
summary = "What we look at each night."
devices = ["cpu"]
toolchains = ["newest", "torch-2.3"]
settings = ["", "threads=1,deterministic"]
include = ["cuda@torch-2.13"]
exclude = ["*@torch-2.3:threads=*"]
repeats = 7

[presets.every]
toolchains = ["*"]
"""


def test_a_preset_of_ones_own() -> None:
    own = presets_in(OWN)
    made = planned(preset="nightly", fleet=BOTH, presets={**PRESETS, **own})
    assert set(labels(made)) == {
        "cpu@torch-2.13-cpu",
        "cpu@torch-2.3-cpu",
        "cuda@torch-2.13-cu130",
        "cpu@torch-2.13-cpu:deterministic,threads=1",
        "cpu@torch-2.3-cpu:deterministic,threads=1",
    } - {"cpu@torch-2.3-cpu:deterministic,threads=1"}
    assert (made.preset, made.repeats.at_most, own["nightly"].summary) == (
        "nightly",
        7,
        "What we look at each night.",
    )
    assert labels(planned(preset="every", fleet=BOTH, presets={**PRESETS, **own})) == labels(
        planned(preset="version", fleet=BOTH)
    )
    assert refused(preset="nightly", fleet=BOTH).code == "unknown_preset"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[presets.a", "not valid TOML"),
        ("", "[presets.NAME]"),
        ("[preset.a]", "[presets.NAME]"),
        ("[presets.quick]", "already"),
        ("[presets.versions]", "already"),
        ("[presets.'A b']", "a-z"),
        ("presets.a = 3", "presets.a: a preset is a table"),
        (
            "[presets.a]\ndevice = ['cpu']",
            "presets.a.device: there is no such field; the fields are summary, devices",
        ),
        ("[presets.a]\ndevices = 'cpu'", "presets.a.devices: this must be a list"),
        ("[presets.a]\ndevices = []", "presets.a.devices: this must be a list"),
        (
            "[presets.a]\ndevices = ['tpu']",
            "presets.a.devices[0]: there is no such device; the devices are cpu, cuda",
        ),
        ("[presets.a]\nsettings = ['', 'sped=1']", "presets.a.settings[1]: There is no such setting"),
        ("[presets.a]\nsettings = ['threads=0']", "whole number from 1 to 1024"),
        ("[presets.a]\ntoolchains = ['a b']", "presets.a.toolchains[0]: this must be a name"),
        ("[presets.a]\nexclude = ['*']", "presets.a.exclude[0]: The exclude * would exclude every cell"),
        (
            "[presets.a]\ninclude = ['cpu:*']",
            "presets.a.include[0]: In an include, each setting needs a value",
        ),
        ("[presets.a]\nrepeats = 0", "presets.a.repeats: this must be a whole number from 1 to 250"),
        ("[presets.a]\nrepeats = true", "presets.a.repeats"),
        ("[presets.a]\neach_card = 1", "presets.a.each_card: this must be true or false"),
        ("[presets.a]\nsummary = 'a\\n'\n", "presets.a"),
    ],
)
def test_a_file_of_presets_that_cannot_be_used_says_where_and_what(text: str, words: str) -> None:
    if text.endswith("'a\\n'\n"):
        text = '[presets.a]\nsummary = "a\\nb"'
    with pytest.raises(InputError) as error:
        presets_in(text)
    assert error.value.code == "bad_presets"
    assert words in error.value.message


EXCLUDES = st.lists(
    st.sampled_from(
        ["cpu", "cuda", "*:threads=*", "*@torch-2.3", "cpu:*", "cuda*2", "*:*", "*:cpu-isa=avx2"]
    ),
    max_size=3,
)
INCLUDES = st.lists(
    st.sampled_from(["cpu:seed=1", "cuda*2", "*@*", "*:threads=1", "cpu@torch-2.3"]), max_size=3
)


@given(st.sampled_from(list(PRESETS)), INCLUDES, EXCLUDES)
def test_what_is_left_out_stays_out_and_nothing_else_does(
    preset: str, include: list[str], exclude: list[str]
) -> None:
    fleet = (*BOTH, GPU_NODE)
    whole = planned(preset=preset, fleet=fleet, include=include)
    patterns = [parse_exclusion(text) for text in exclude]
    expected = [cell for cell in whole.cells if not any(pattern.fits(cell.target) for pattern in patterns)]
    if not expected:
        assert refused(preset=preset, fleet=fleet, include=include, exclude=exclude).code == "nothing_left"
        return
    made = planned(preset=preset, fleet=fleet, include=include, exclude=exclude)
    assert list(made.cells) == expected
    assert sum(number for _, number in made.left_out) == len(whole.cells) - len(made.cells)


@given(INCLUDES, st.randoms(use_true_random=False))
def test_the_order_of_includes_changes_no_cell(include: list[str], random: Any) -> None:
    mixed = random.sample(include, len(include))
    one, other = (set(labels(planned(fleet=BOTH, include=each))) for each in (include, mixed))
    assert one == other


@given(
    st.text(max_size=40)
    | st.from_regex(r"(cpu|cuda|\*)(\*\d)?(/sm\d\d)?(@[a-z*]+)?(:[a-z-]+=?[a-z*0-9]*)?", fullmatch=True)
)
def test_any_text_is_a_pattern_or_refused_by_name(text: str) -> None:
    for parse, field in ((parse_inclusion, "include"), (parse_exclusion, "exclude")):
        try:
            parse(text)
        except InputError as error:
            refusal = error
        else:
            continue
        assert refusal.field == field


def test_a_target_is_a_pattern_that_fits_itself() -> None:
    for text in ("cuda*2/sm90@torch-2.13:deterministic,threads=1", "cpu@torch-2.13-cpu", "cuda"):
        target = parse_target(text)
        assert parse_exclusion(text).fits(target)


def test_explaining_repeats_with_deterministic_kernels_where_torch_documents_that_they_vary() -> None:
    sums, plain = (
        reading(f"import torch\nprint(torch.zeros(3).{call})")
        for call in ("scatter_add(0, torch.zeros(9).long(), torch.ones(9))", "sum()")
    )
    found = [labels(planned(preset="explain", report=report)) for report in (sums, plain)]
    assert [[label for label in each if "deterministic" in label] for each in found] == [
        ["cuda@torch-2.13-cu130:deterministic"],
        [],
    ]
