"""Targets as people write them, and the settings that exist."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InputError
from app.targets.parse import check_target, make_target, parse_target
from app.targets.target import Target
from worker.contract import Device
from worker.contract.names import SETTINGS


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("cpu", Target(device=Device.CPU)),
        (" cuda ", Target(device=Device.CUDA, gpus=1)),
        ("cuda*2", Target(device=Device.CUDA, gpus=2)),
        ("cuda/sm90", Target(device=Device.CUDA, gpus=1, capability="sm90")),
        (
            "cuda*4/sm100a@torch-2.13",
            Target(device=Device.CUDA, gpus=4, capability="sm100a", toolchain="torch-2.13"),
        ),
        ("cpu@torch-2.13-cpu", Target(toolchain="torch-2.13-cpu")),
        (
            "cuda@torch-2.13:cpu-isa=sse4.2,threads=1",
            Target(
                device=Device.CUDA,
                gpus=1,
                toolchain="torch-2.13",
                settings={"cpu-isa": "sse4.2", "threads": "1"},
            ),
        ),
        ("cpu:deterministic", Target(settings={"deterministic": "on"})),
        ("cpu:deterministic=true", Target(settings={"deterministic": "on"})),
        ("cpu:threads=01, seed=7", Target(settings={"seed": "7", "threads": "1"})),
        ("cpu:tf32=OFF", Target(settings={"tf32": "off"})),
        ("cpu:", Target()),
    ],
)
def test_targets_are_parsed(text: str, target: Target) -> None:
    assert parse_target(text) == target


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "bad_target"),
        ("tpu", "unknown_device"),
        ("cpu*2", "bad_target"),
        ("cpu/sm90", "bad_target"),
        ("cuda*999", "bad_target"),
        ("cuda/9.0", "bad_target"),
        ("cpu@../etc", "bad_target"),
        ("cpu@-x", "bad_target"),
        ("cpu:speed=1", "unknown_setting"),
        ("cpu:threads=0", "bad_setting"),
        ("cpu:threads=x", "bad_setting"),
        ("cpu:threads", "bad_setting"),
        ("cpu:threads=1,threads=2", "bad_target"),
        ("cpu:cpu-isa=avx3", "bad_setting"),
        ("cpu:deterministic=off", "bad_setting"),
        ("cpu:seed=99999999999999999999", "bad_setting"),
        ("cpu:threads=\u0661", "bad_setting"),
        ("cpu cuda", "bad_target"),
    ],
)
def test_what_does_not_exist_is_refused(text: str, code: str) -> None:
    with pytest.raises(InputError) as error:
        parse_target(text)
    assert error.value.code == code


def test_a_refusal_lists_what_exists() -> None:
    for text, words in (
        ("tpu", ("cpu", "cuda")),
        ("cpu:speed=1", tuple(SETTINGS)),
        ("cpu:cpu-isa=x", ("avx2", "sse4.2", "compatible")),
    ):
        with pytest.raises(InputError) as error:
            parse_target(text)
        assert all(word in error.value.message for word in words)


def test_settings_of_an_object_are_checked_too() -> None:
    assert make_target({"device": "cpu", "settings": {"deterministic": True, "threads": 2}}).settings == {
        "deterministic": "on",
        "threads": "2",
    }
    for fields in (
        {"device": "cpu", "settings": 3},
        {"device": "cpu", "nonsense": 1},
        {"device": "cuda", "gpus": "many"},
    ):
        with pytest.raises(InputError):
            make_target(fields)


def test_a_refusal_quotes_nothing_of_what_was_sent() -> None:
    for text in ("IGNORE@x", "cpu:IGNORE=1", "cpu:cpu-isa=IGNORE", "cpu@IGNORE IGNORE"):
        with pytest.raises(InputError) as error:
            parse_target(text)
        assert "IGNORE" not in error.value.message


VALUES = {
    name: st.sampled_from(values) if values else st.integers(1, 64).map(str)
    for name, values in SETTINGS.items()
}
SETTING_SETS = st.sets(st.sampled_from(sorted(SETTINGS))).flatmap(
    lambda names: st.fixed_dictionaries({name: VALUES[name] for name in sorted(names)})
)
TOOLCHAINS = st.sampled_from(["", "torch-2.13", "torch-2.13-cpu", "t.1_x+cu130"])
TARGETS = st.one_of(
    st.builds(Target, device=st.just(Device.CPU), toolchain=TOOLCHAINS, settings=SETTING_SETS),
    st.builds(
        Target,
        device=st.just(Device.CUDA),
        gpus=st.integers(1, 16),
        capability=st.none() | st.sampled_from(["sm70", "sm90", "sm100a"]),
        toolchain=TOOLCHAINS,
        settings=SETTING_SETS,
    ),
)


@given(TARGETS)
def test_a_label_is_read_as_its_target(target: Target) -> None:
    assert parse_target(target.label()) == target


@given(TARGETS)
def test_checking_twice_changes_nothing(target: Target) -> None:
    checked = check_target(target)
    assert check_target(checked) == checked == target


@given(TARGETS)
def test_a_target_as_an_object_is_the_same_target(target: Target) -> None:
    assert make_target(target.model_dump(mode="json")) == target


@given(st.text(max_size=60))
def test_any_text_is_a_target_or_refused(text: str) -> None:
    try:
        target = parse_target(text)
    except InputError:
        return
    assert parse_target(target.label()) == target
