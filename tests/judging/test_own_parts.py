"""Parts of torch that a script replaces for a while, hooks, thresholds and sums of Python, by its text."""

from __future__ import annotations

from typing import Any

import pytest

from app.judging.cause.own_parts import OwnParts, own_parts
from app.judging.dossier.build import build_dossier
from app.judging.dossier.document import DossierCell
from worker.contract.trace import Trace

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\nfrom unittest import mock\n"
LABEL = "cpu:trace=on"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("with mock.patch.object(F, 'gelu', f): pass", "torch.nn.functional.gelu"),
        ("with mock.patch('torch.nn.functional.silu', f): pass", "torch.nn.functional.silu"),
        ("monkeypatch.setattr('torch.exp', f)", "torch.exp"),
        ("setattr(torch.Tensor, 'mean', f)", "torch.Tensor.mean"),
        ("torch.Tensor.mean = f", "torch.Tensor.mean"),
        ("nn.Linear.forward = f", "torch.nn.Linear.forward"),
    ],
)
def test_a_part_of_torch_that_is_replaced_is_named(text: str, name: str) -> None:
    assert own_parts(HEAD + text).replaces == (name,)


@pytest.mark.parametrize(
    "text",
    [
        "torch.backends.cuda.matmul.allow_tf32 = True",
        "torch._dynamo.config.suppress_errors = True",
        "net = nn.Linear(2, 2)\nnet.weight.data = torch.ones(2, 2)",
        "setattr(net, 'training', False)",
        "mock.patch('numpy.exp', f)",
        "this is no Python",
    ],
)
def test_settings_and_the_scripts_own_objects_are_no_parts_of_torch(text: str) -> None:
    assert own_parts(HEAD + text) == OwnParts()


def test_hooks_thresholds_and_sums_are_seen() -> None:
    hooks = own_parts("from torch.nn.modules.module import register_module_forward_hook\nw.register_hook(f)")
    assert hooks.hooks == ("register_hook",)
    assert own_parts("h = register_module_forward_hook(f)").hooks == ("register_module_forward_hook",)
    assert own_parts("if x.item() > -2.5 or 3 == y: pass").thresholds == (-2.5, 3.0)
    assert own_parts("total += loss.item()").adds_up
    assert own_parts("s = sum(x.tolist())").adds_up
    assert not own_parts("for each in x.tolist(): print(each)\nn += 1").adds_up


def cell(failure: str = "", **value: Any) -> DossierCell:
    base = {"name": "read[0]", "number": 3, "dtype": "torch.float32", "value": 1.0000001, "reference": 1.0}
    base |= {"error": 1e-7, "ulps": 1.0, "uncertainty": 1e-7, "rounding": 1e-7}
    facts = {"operations_seen": 9, "pairs": 0, "asked": 9, "answered": 9, "whole": True}
    trace = Trace.model_validate({**facts, "shadow": {"values": [{**base, **value}]}})
    return DossierCell(label=LABEL, attempts=1, outputs=1, failure=failure, trace=trace)


def test_a_number_near_a_threshold_leaves_a_no_open_and_one_far_away_does_not() -> None:
    near, far = OwnParts(thresholds=(1.0,)), OwnParts(thresholds=(1.001,))
    assert (build_dossier([cell()]).defect, build_dossier([cell()], own_parts=far).defect) == ("no", "no")
    dossier = build_dossier([cell()], own_parts=near)
    assert (dossier.cause, dossier.defect) == ("rounding", "undecided")
    assert "read[0] is as near to 1" in dossier.unknown[0]
    assert dossier.summary == "As far as it was looked at, every operation is as exact as its type allows."


def test_a_script_that_torch_stops_has_not_shown_all_its_numbers() -> None:
    assert build_dossier([cell("AssertionError")]).defect == "no"
    stopped = build_dossier([cell("RuntimeError")])
    assert stopped.defect == "undecided"
    assert "ends with RuntimeError" in stopped.unknown[0]


def test_slight_drift_of_nearest_numbers_is_rounding_and_a_large_one_is_open() -> None:
    def outside(relative: float, *, nearest: bool) -> tuple[str | None, str]:
        facts = {"error": relative, "ulps": relative / 2.0**-23, "relative": relative, "outside": 1}
        drifted = cell(**facts, value=1.0 + relative)
        assert drifted.trace is not None
        assert drifted.trace.shadow is not None
        shadow = drifted.trace.shadow.model_copy(update={"nearest": nearest})
        trace = drifted.trace.model_copy(update={"shadow": shadow})
        dossier = build_dossier([DossierCell(label=LABEL, attempts=1, outputs=1, trace=trace)])
        return dossier.cause, dossier.defect

    assert outside(1e-4, nearest=True) == ("rounding", "no")
    assert outside(1e-4, nearest=False) == (None, "undecided")
    assert outside(0.1, nearest=True) == (None, "undecided")
