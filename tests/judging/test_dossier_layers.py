"""Question D: which layer of the compiler moves a number further than rounding may."""

from __future__ import annotations

from typing import Any

import pytest
from judging_builders import script

from app.judging.dossier.build import build_dossier
from app.judging.dossier.document import Dossier, DossierCell
from app.targets.planning.cause_tests import LAYERS, compiles, layer_tests
from worker.contract.trace import Trace

UNIT = 2.0**-23
SHOWN = {
    "name": "read[0]", "number": 3, "dtype": "torch.float32", "value": 0.7310585975646973,
    "reference": 0.7310585786, "error": 1.9e-8, "ulps": 0.3, "uncertainty": UNIT, "rounding": UNIT,
}  # fmt: skip
PLAIN = "0.7310585975646973\n"
NEAR = "0.7310586571693420\n"
FAR = "0.7330000000000000\n"


def cells(
    *, asked: str = PLAIN, graphs: int | None = 1, failure: str = "", **outputs: str
) -> list[DossierCell]:
    """The plain cell, the traced one, and a cell for each layer; a layer without output has failed."""
    facts: dict[str, Any] = {"operations_seen": 9, "pairs": 0, "asked": 9, "answered": 9, "whole": True}
    trace = Trace.model_validate({**facts, "shadow": {"values": [SHOWN]}})
    one = {"attempts": 1, "outputs": 1}
    layered = [
        DossierCell(
            label=f"cpu:compile={layer}",
            stdout=outputs.get(layer, PLAIN),
            settings=frozenset({"compile"}),
            layer=layer,
            graphs=graphs,
            failure="" if outputs.get(layer, PLAIN) else failure,
            attempts=int(bool(outputs.get(layer, PLAIN))),
            outputs=1,
        )
        for layer in LAYERS
    ]
    return [
        DossierCell(label="cpu", stdout=asked, **one),
        DossierCell(label="cpu:trace=on", stdout=PLAIN, settings=frozenset({"trace"}), trace=trace, **one),
        *layered,
    ]


def answer(dossier: Dossier) -> str | None:
    return next(question.answer for question in dossier.questions if question.letter == "D")


@pytest.mark.parametrize(
    ("outputs", "layer", "cause"),
    [
        ({**dict.fromkeys(LAYERS, FAR), "asked": FAR}, "eager", "compiler_frontend"),
        ({"aot_eager": FAR, "decomposed": FAR, "inductor": FAR}, "aot_eager", "compiler_frontend"),
        ({"decomposed": FAR, "inductor": FAR}, "decomposed", "decomposition"),
        ({"inductor": FAR}, "inductor", "code_generation"),
        # All of torch's layers are right: it is the backend that the script brings along.
        ({"asked": FAR}, "as asked", "code_generation"),
    ],
)
def test_the_first_layer_outside_is_the_cause(outputs: dict[str, str], layer: str, cause: str) -> None:
    dossier = build_dossier(cells(**outputs), compiles=True)
    assert (answer(dossier), dossier.cause, dossier.defect) == (layer, cause, "yes")


def test_layers_within_rounding_are_no_defect() -> None:
    dossier = build_dossier(cells(inductor=NEAR, asked=NEAR), compiles=True)
    assert (answer(dossier), dossier.cause, dossier.defect) == ("none: within rounding", "rounding", "no")
    assert answer(build_dossier(cells(), compiles=True)) == "none: the same output"


def test_a_layer_that_cannot_run_here_is_named_and_no_gap_if_it_is_not_asked_for() -> None:
    dossier = build_dossier(
        cells(inductor="", failure="torch._inductor.exc.InvalidCxxCompiler"), compiles=True
    )
    facts = dossier.questions[3].facts
    assert "inductor: it ended with torch._inductor.exc.InvalidCxxCompiler." in facts
    assert (answer(dossier), dossier.defect) == ("none: the same output", "no")


def test_what_did_not_compile_shows_nothing() -> None:
    dossier = build_dossier(cells(graphs=0, asked="no numbers\n"), compiles=True)
    assert (answer(dossier), dossier.defect) == (None, "undecided")
    assert "eager: nothing was compiled." in dossier.questions[3].facts
    assert answer(build_dossier(cells()[:2], compiles=True)) is None


@pytest.mark.parametrize(
    ("source", "layers"),
    [
        ("import torch\nf = torch.compile(f)\n", LAYERS),
        ("import torch\n@torch.compile(backend='eager')\ndef f(x): return x\n", LAYERS),
        ("import torch\nmodel.compile()\n", LAYERS),
        ("import re\nimport torch\np = re.compile('a')\n", ()),
        ("print('torch.compile')\n", ()),
    ],
)
def test_a_script_that_compiles_gets_a_cell_for_each_layer(source: str, layers: tuple[str, ...]) -> None:
    assert compiles(source) is bool(layers)
    assert tuple(each["compile"] for each in layer_tests(script(source))) == layers
