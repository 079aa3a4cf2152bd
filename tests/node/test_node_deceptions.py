"""Scripts by which a numerical analyst made a dossier say something false. They share one torch process."""

from __future__ import annotations

from pathlib import Path

import pytest
from traced_scripts import Explain, dossiers_of

from app.judging.dossier.document import Dossier

# A wrong cosine beside its own check, by each way in which a script can bring its own.
COSINE = "1 - a * a / 2 + a**4 / 24"
CHECKED = "x = torch.linspace(0.1, 1.2, 7)\nprint(torch.cos(x) ** 2 + torch.sin(x) ** 2)\n"
OWN = {
    "function mode": f"""
import torch
from torch.overrides import TorchFunctionMode
class Mode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        a = args[0] if args else None
        return {COSINE} if func is torch.cos else func(*args, **(kwargs or {{}}))
with Mode():
    {CHECKED.replace(chr(10), chr(10) + "    ")}
""",
    "dispatch mode": f"""
import torch
from torch.utils._python_dispatch import TorchDispatchMode
class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        a = args[0] if args else None
        return {COSINE} if func is torch.ops.aten.cos.default else func(*args, **(kwargs or {{}}))
with Mode():
    {CHECKED.replace(chr(10), chr(10) + "    ")}
""",
    "subclass": f"""
import torch
class Own(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        a = args[0].as_subclass(torch.Tensor)
        return {COSINE} if func is torch.cos else func(a, *args[1:], **(kwargs or {{}}))
x = torch.linspace(0.1, 1.2, 7)
print(torch.cos(x.as_subclass(Own)) ** 2 + torch.sin(x) ** 2)
""",
    "module": "import torch\ntorch.nn.GELU.forward = lambda self, x: x * torch.sigmoid(1.702 * x)\n"
    "print(torch.nn.GELU()(torch.linspace(-2, 2, 9)))\n",
    "wrapped": "import torch, functools\nF = torch.nn.functional\n"
    "F.silu = functools.wraps(F.silu)(lambda x: x * torch.sigmoid(1.1 * x))\n"
    "print(F.silu(torch.ones(3) / 3))\n",
    "optimizer": "import torch\ndef step(self):\n    with torch.no_grad():\n"
    "        for p in self.param_groups[0]['params']: p.sub_(p.grad, alpha=0.05)\n"
    "torch.optim.SGD.step = step\nw = torch.ones(3, requires_grad=True)\n"
    "o = torch.optim.SGD([w], lr=0.1)\n(w * 0.3).sin().sum().backward()\no.step()\nprint(w)\n",
    "hook": "import torch\nw = torch.linspace(1, 2, 5).requires_grad_()\n"
    "w.register_hook(lambda g: g * 1.01)\n"
    "w.sin().sum().backward()\nprint(w.grad, w.cos())\n",
}
# Of none of these may be said that it is a defect.
SOUND = {
    "fused attention": "import torch\ntorch.manual_seed(0)\n"
    "q, k, v = (torch.randn(1, 2, 8, 16).bfloat16().requires_grad_() for _ in range(3))\n"
    "out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)\n"
    "out.float().square().sum().backward()\nprint(out[0, 0, 7, :4], q.grad[0, 0, 7, :4])\n",
    "recurrent": "import torch\ntorch.manual_seed(0)\nlayer = torch.nn.LSTM(4, 6, bidirectional=True)\n"
    "print(layer(torch.randn(5, 2, 4))[0][-1, 0].tolist())\n",
    "running sum": "import torch\ntorch.manual_seed(0)\n"
    "x = torch.rand(20_000) - 0.5\nprint(x.cumsum(0)[-1].item())\n",
    "replaced not a number": "import torch\nx = torch.tensor([-1.0, 2.0, 1e30]) * 1e10\n"
    "print(x.sqrt().nan_to_num(0.5), (x * x).nan_to_num())\n",
    "out in another type": "import torch\nx = torch.linspace(0.1, 3, 7)\n"
    "o = torch.zeros(7, dtype=torch.float64)\n"
    "print(torch.cos(x, out=o), torch.add(x, x * 0.3, out=o))\n",
    "second derivative": "import torch\nfrom torch.func import hessian\nx = torch.linspace(0.1, 2, 5)\n"
    "print(hessian(lambda v: (v.exp() * v).sum())(x).diagonal())\n",
    "no vectors": "import torch\ntorch.manual_seed(0)\na = torch.randn(5, 5)\n"
    "print(torch.linalg.cond(a), (a @ a).sum())\n",
    "halves": "import torch\ntorch.manual_seed(0)\nF = torch.nn.functional\n"
    "for d in (torch.float16, torch.bfloat16):\n    x = torch.randn(8, 32).to(d)\n"
    "    y = [F.layer_norm(x, (32,)), x.softmax(1), F.gelu(x), x.std(), x @ x.T]\n"
    "    y += [x.cumsum(1), x.norm(), x.prod(1)]\n"
    "    print(sum(each.float().sum() for each in y))\n",
}
# The numbers are right as such, and not what the script is after.
OUT_OF_TORCH = {
    "another formula": "import torch\ntorch.manual_seed(0)\nx = torch.randn(4, 16)\n"
    "mine = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)\n"
    "print((mine - torch.nn.functional.layer_norm(x, (16,))).abs().max().item())\n",
    "whole numbers": "import torch\nx = torch.tensor([200, 220, 250], dtype=torch.uint8)\n"
    "print(((x * x).float().mean() * 0.1).item())\n",
    "whole sum": "import torch\nx = torch.full((3,), 2**30, dtype=torch.int32)\n"
    "print((torch.sum(x, dtype=torch.int32).float() / 3 * 0.1).item())\n",
    "numpy": "import numpy as np, torch\ntorch.manual_seed(0)\nw = torch.rand(1000) * 0.1\n"
    "s = np.float16(0)\nfor e in w.numpy().astype(np.float16): s = np.float16(s + e)\nprint(float(s))\n",
}
OUT_OF_TORCH["wrong strides"] = """
import torch
torch.manual_seed(0)
x = torch.randn(4, 6).t()
print((x.as_strided((6, 4), (4, 1)).sum(1) - x.sum(1)).abs().max().item())
"""
# A loss is no comparison, whatever float64 says of both sides.
LOSS = """
import torch
torch.manual_seed(0)
x, w = torch.randn(64, 3), torch.zeros(3, requires_grad=True)
y = x.sum(1) + torch.randn(64) * 0.1
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(30):
    optimizer.zero_grad()
    torch.nn.functional.l1_loss(x @ w, y).backward()
    optimizer.step()
print(w)
"""
BRANCH = (
    "import torch\nx = torch.tensor(0.1) + torch.tensor(0.2)\nprint((x * 10 if x > 0.3 else x * 20).item())\n"
)
GAPS = ("Nothing shows which formula", "goes beyond what its integers hold", "computes with numpy")
# An infinite mask has no rounding, so it hides none.
MASKED = """
import torch
torch.manual_seed(0)
x = torch.randn(9, 4)
mask = torch.full((9, 9), float("-inf")).triu(1)
y = torch.softmax(x @ x.T + mask, -1) @ x
large = torch.tensor([2**53 + 1], dtype=torch.int64)
print(y, large - large.double().long())
"""
REGISTERED = """
import torch
library = torch.library.Library("aten", "IMPL")
library.impl("{name}", {function}, "CPU")
torch.manual_seed(0)
print({call})
"""
WRONG = {
    # A unit of bfloat16 is up to 1 %, and sixteen of them are no rounding of one step.
    "aten::exp": ("exp", "lambda x: (x.float().sinh() + x.float().cosh()).mul(1.1).to(x.dtype)",
                  "torch.linspace(0, 2, 9).bfloat16().exp()"),
    "aten::mean": ("mean", "lambda x, dtype=None: (x.float().sum() / (x.numel() + 3)).to(x.dtype)",
                   "torch.rand(64).half().mean()"),
    # What is below the normal numbers of float16 is a number like others.
    # A kernel that may draw random numbers, and here draws none.
    "aten::_scaled_dot_product_flash_attention_for_cpu": (
        "_scaled_dot_product_flash_attention_for_cpu",
        "lambda q, k, v, *more, **named: ((q @ k.mT / 4).softmax(-1) @ v * 1.001, (q @ k.mT).logsumexp(-1))",
        "torch.nn.functional.scaled_dot_product_attention(*[torch.rand(1, 1, 4, 16) for _ in range(3)])",
    ),
    "aten::sin": ("sin", "lambda x: torch.add(x, x)", "torch.full((4,), 1e-5).half().sin()"),
}  # fmt: skip
EXECUTED = """
exec(compile('''
import torch
library = torch.library.Library("aten", "IMPL")
library.impl("log1p", lambda x: torch.log(x + 1), "CPU")
''', "<string>", "exec"))
print(torch.log1p(torch.tensor([1e-6, 3e-7])))
"""
# Its condition number is 1.5e10, so float32 has no digit of the solution left.
SINGULAR = """
import torch
places = torch.arange(1.0, 9)
matrix = 1 / (places[:, None] + places[None, :] - 1)
print(torch.linalg.solve(matrix, matrix.sum(1)).tolist())
"""
SCRIPTS = {
    "singular": SINGULAR,
    **OWN,
    **SOUND,
    **{name: REGISTERED.format(name=row[0], function=row[1], call=row[2]) for name, row in WRONG.items()},
    **OUT_OF_TORCH,
    "masked": MASKED,
    "loss": LOSS,
    "branch": BRANCH,
    "no number": "import torch\nx = torch.tensor([0.0, 1.0]) / 0\nprint(x - x, (x - x).sum().item())\n",
    "executed": EXECUTED,
}


@pytest.fixture(scope="module")
def explain(toolchains: Path, toolchain: str, tmp_path_factory: pytest.TempPathFactory) -> Explain:
    """The dossier of a script by its name: all are traced at once, in forks of one process."""
    return dossiers_of(SCRIPTS, toolchains, toolchain, tmp_path_factory.mktemp("scripts"))


def answer(dossier: Dossier, letter: str) -> str | None:
    return next(each.answer for each in dossier.questions if each.letter == letter)


@pytest.mark.sandbox
@pytest.mark.parametrize("name", OWN)
def test_what_the_script_brings_along_is_never_cleared(explain: Explain, name: str) -> None:
    """Every operation of torch is right there, and the number that the script shows is wrong."""
    dossier = explain(name)
    assert (dossier.defect, answer(dossier, "E")) == ("undecided", "yes")


@pytest.mark.sandbox
@pytest.mark.parametrize("name", SOUND)
def test_what_torch_rounds_is_no_defect(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert dossier.defect in {"no", "undecided"}
    assert dossier.cause in {None, "rounding", "ill_conditioned"}
    assert not any(
        "is not an operation of torch" in fact for each in dossier.questions for fact in each.facts
    )


@pytest.mark.sandbox
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_is_seen_whatever_may_hide_it(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert (dossier.defect, dossier.cause, answer(dossier, "C")) == ("yes", "unexplained", name)
    assert "script's own implementation" in dossier.defect_sentence


@pytest.mark.sandbox
def test_a_kernel_from_a_text_is_the_scripts_own(explain: Explain) -> None:
    dossier = explain("executed")
    assert "script's own implementation" in dossier.defect_sentence
    assert answer(dossier, "E") == "yes"


@pytest.mark.sandbox
def test_numbers_in_lists_are_shown_numbers(explain: Explain) -> None:
    dossier = explain("singular")
    assert (dossier.cause, dossier.defect) == ("ill_conditioned", "no")
    assert (dossier.numbers[0].name, dossier.numbers[0].shape) == ("read[0]", [8])


@pytest.mark.sandbox
@pytest.mark.parametrize("name", OUT_OF_TORCH)
def test_another_formula_or_number_system_is_no_rounding(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert dossier.defect == "undecided"
    assert any(words in gap for words in GAPS for gap in dossier.unknown)


@pytest.mark.sandbox
def test_an_infinite_mask_hides_no_error(explain: Explain) -> None:
    dossier = explain("masked")
    (side,) = next(number for number in dossier.numbers if number.name == "print[0]").sides
    assert side.rounding is not None
    assert 0 < side.rounding < 1e-5
    # The last digits of large integers are none of float64, and no overflow.
    assert dossier.unknown == []


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("name", "cause", "defect"),
    [
        ("loss", "rounding", "no"),
        ("branch", "rounding_before_a_decision", "undecided"),
        ("no number", None, "undecided"),
    ],
)
def test_a_branch_is_a_decision_and_no_number_is_no_rounding(
    explain: Explain, name: str, cause: str | None, defect: str
) -> None:
    dossier = explain(name)
    assert (dossier.cause, dossier.defect) == (cause, defect)
