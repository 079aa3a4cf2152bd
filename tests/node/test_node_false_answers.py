"""Answers that were false: what rounding decides out of sight, two formulas, and parts of torch replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from traced_scripts import Explain, dossiers_of

HEAD = "import torch\ntorch.manual_seed(3)\n"
HILBERT = "i = torch.arange({n}, dtype=torch.{dtype})\na = 1 / (i[:, None] + i[None, :] + 1)\n"
X = "x = torch.rand(200) + 1\n"
# A number is wrong, or rounding decides: "no" would be false.
NEVER_NO = {
    "a factorisation that only rounding lets fail": HILBERT.format(n=12, dtype="float32")
    + "try:\n    c = torch.linalg.cholesky(a)\nexcept RuntimeError:\n    c = a / 3\nprint(c.sum())\n",
    "an index among sums that rounding makes equal": "h = (torch.arange(64) / 977).bfloat16()\n"
    "print((h * h * 31 + 5).argmax(), (h * h).sum())\n",
    "an index beside its largest element": "h = (torch.arange(64) / 977).bfloat16()\n"
    "v, i = (h * h * 31 + 5).max(0)\nprint(i, v.float() / 3)\n",
    "a number at the edge of a bin": "print(torch.histc(torch.arange(100) / 100, 10, 0, 1) / 3)\n",
    "a step of decimals": "print(torch.round(torch.tensor([2.675, 1.005]), decimals=2) / 3)\n",
    "integers that float32 does not hold": "k = torch.tensor([16777217, 16777219])\n"
    "print(k.float().long(), k.float() / 3)\n",
    "a threshold of Python": "s = sum([torch.tensor(0.1)] * 10)\n"
    "print(torch.ones(2) / 3 * (2 if s.item() > 1 else 1))\n",
    "numbers that Python adds up": X + "total = 0.0\nfor each in x.tolist():\n    total += each\n"
    "print(torch.tensor(total) / 7)\n",
    "two formulas of one mean": X + "print(x[1:].sum() / 200, x.mean())\n",
    "two formulas of a norm": "x = torch.randn(4, 32)\n"
    "print((x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True))\n"
    "print(torch.nn.functional.layer_norm(x, (32,)))\n",
    "formulas that allclose tells apart": "q = torch.randn(4, 4) / 3\n"
    "print(torch.allclose(q.exp(), 1 + q + q * q))\n",
    "a class that is gone at the end": "import gc\ndef run(x):\n    class Wrong(torch.autograd.Function):\n"
    "        @staticmethod\n        def forward(ctx, x):\n            return x / 3\n        @staticmethod\n"
    "        def backward(ctx, g):\n            return g / 7\n    return Wrong.apply(x)\n"
    "x = torch.ones(3, requires_grad=True)\nrun(x).sum().backward()\ng = x.grad.clone()\n"
    "del x\ngc.collect()\nprint(g)\n",
    "a function that is replaced for a while": "from unittest import mock\nimport torch.nn.functional as F\n"
    "with mock.patch.object(F, 'silu', lambda x, inplace=False: x.sigmoid() * x * 1.01):\n"
    "    print(torch.nn.SiLU()(torch.ones(3) / 3))\n",
    "functions that are replaced by a name": "import torch.nn.functional as F\nold = F.silu\n"
    "name = 'si' + 'lu'\n"
    "setattr(F, name, lambda x, inplace=False: x.sigmoid() * x * 1.01)\n"
    "y = torch.nn.SiLU()(torch.ones(3) / 3)\nsetattr(F, name, old)\nprint(y)\n",
    "text that runs as code": "import torch.nn.functional as F\nold = F.silu\n"
    "exec('F.silu = lambda x, inplace=False: x.sigmoid() * x * 1.01')\n"
    "y = torch.nn.SiLU()(torch.ones(3) / 3)\nexec('F.silu = old')\nprint(y)\n",
    "memory that ctypes writes": "import ctypes\nx = torch.ones(3)\n"
    "ctypes.c_float.from_address(x.data_ptr()).value = 1.1\nprint(x / 3)\n",
    "a hook that is removed": "w = (torch.ones(3) / 3).requires_grad_()\n"
    "h = w.register_hook(lambda g: g / 7)\n(w * w).sum().backward()\nh.remove()\nprint(w.grad)\n",
    "a change that backward does not see": "w = (torch.ones(3) / 3).requires_grad_()\ny = (w * w).sum()\n"
    "w.data.mul_(3)\ny.backward()\nprint(w.grad)\n",
    "bits changed as integers": "x = torch.tensor([2.0, 10.0])\n"
    "y = (0x5F3759DF - (x.view(torch.int32) >> 1)).view(torch.float32)\nprint(y * (1.5 - 0.5 * x * y * y))\n",
}  # fmt: skip
# Two threads write to one tensor. No operation of torch is wrong.
RACE = (
    "import threading\nt = torch.zeros(150000)\ndef work():\n    for _ in range(60):\n        t.add_(0.1)\n"
    "threads = [threading.Thread(target=work) for _ in range(4)]\n"
    "[each.start() for each in threads]\n[each.join() for each in threads]\nprint(t.min(), t.max())\n"
)
THREADS = (
    "import threading\nx = torch.rand(4, 500)\nout = torch.zeros(4)\nrows = [None] * 4\ndef work(k):\n"
    "    rows[k] = (x[k] * 2).exp_().sum()\n"
    "threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]\n"
    "[each.start() for each in threads]\n[each.join() for each in threads]\n"
    "print(torch.stack(rows).mul_(0.5))\n"
)
# Nothing is wrong with these, and they look like the ones above.
STILL_NO = {
    "weights that .data changes": "w = torch.randn(5, requires_grad=True)\nfor _ in range(3):\n"
    "    (w * w / 3).sum().backward()\n    w.data -= 0.1 * w.grad.data\n    w.grad.data.zero_()\nprint(w)\n",
    "changes in place that torch counts": "linear = torch.nn.Linear(4, 4)\n"
    "net = torch.nn.Sequential(linear, torch.nn.ReLU(inplace=True))\n"
    "for _ in range(3):\n    net.zero_grad(set_to_none=False)\n    net(torch.randn(3, 4)).sum().backward()\n"
    "    with torch.no_grad():\n        for p in net.parameters():\n"
    "            p.sub_(p.grad, alpha=0.1)\nprint(p)\n",
    "another default dtype": "torch.set_default_dtype(torch.float64)\n"
    "x = torch.rand(5).float() / 3\nprint(x.sum())\n",
    "largest elements far from ties": "v, i = (torch.randn(40, 7) / 3).exp().max(1)\nprint(v, i)\n",
    "a factorisation that succeeds": "a = torch.randn(6, 6)\n"
    "print(torch.linalg.cholesky(a @ a.T + torch.eye(6)).sum())\n",
    "indices far from ties": "x = torch.randn(50, 5)\nprint((x / 3).exp().argmax(1), (x / 3).exp().sum())\n",
    "one formula in two ways": X + "print(x.sum() / 200, x.mean())\n",
    "a threshold far away": X + "m = x.mean()\nprint(m, m.item() > 1)\n",
    "threads of their own": THREADS,
    "a loss that is near a number printed at the end": "w = torch.tensor(2.0, requires_grad=True)\n"
    "print(((w - 1) ** 2).item() > 0.5)\n((w - 1) ** 2).backward()\n"
    "print(w.detach() / 2.0003 * w.grad / 2)\n",
    "roundings to one side": "s = torch.zeros(())\nfor _ in range(6000):\n    s = s + 0.1\nprint(s)\n",
}  # fmt: skip
UNSTABLE = {
    "variance": "x = torch.randn(4000) + 5000\nprint((x * x).mean() - x.mean() ** 2)\n",
    "cosine": "x = torch.tensor([1e-4, 3e-4])\nprint((1 - torch.cos(x)) / x**2)\n",
    "differences of integers": "k = torch.tensor([1700000001, 1700000002, 1700000003])\n"
    "print(k.float() - k.float()[0])\n",
}
# The word is "no" with and without: the cause was false.
NOT_AMPLIFIED = {
    "residual of a factorisation": (
        "a = torch.randn(8, 4)\nq, r = torch.linalg.qr(a)\nprint((q @ r - a).abs().max())\n",
        "sign_or_order"),
    "norm of a residual": (
        ("a = torch.randn(7, 7)\nq, r = torch.linalg.qr(a)\n"
        "print((q @ r - a).abs().max(), (q @ r - a).norm())\n"),
        "sign_or_order"),
    "what was saved and loaded": (
        ("import io\nb = io.BytesIO()\nx = torch.rand(5) / 3\ntorch.save(x, b)\nb.seek(0)\n"
        "y = torch.load(b)\n"
        "print((x * 3 - y * 3).abs().max(), y * 3)\n"), "rounding"),
    "running sum in halves": (
        "x = torch.rand(3000).half()\nprint(x.cumsum(0)[-1], x.float().sum())\n", "rounding"),
}  # fmt: skip
OTHERS = {
    "race": RACE,
    "race of threads that change places often": "import sys\nsys.setswitchinterval(0.00001)\n" + RACE,
    "hilbert": HILBERT.format(n=10, dtype="float32") + "print(torch.linalg.solve(a, a.sum(1)))\n",
    "hilbert in float64": HILBERT.format(n=14, dtype="float64")
    + "print((torch.linalg.solve(a, a.sum(1)) - 1).abs().max())\n",
    "residual in float64": "a = torch.randn(9, 9).double()\nb = torch.ones(9).double()\n"
    "print((a @ torch.linalg.solve(a, b) - b).abs().max())\n",
    "beyond the range": "x = torch.tensor([90.0, 200.0])\nprint(x.exp() / x.exp().sum())\n",
    "its own derivative": "class Wrong(torch.autograd.Function):\n    @staticmethod\n"
    "    def forward(ctx, x):\n        return x * 2\n    @staticmethod\n"
    "    def backward(ctx, g):\n        return g * 3\n"
    "x = torch.ones(3, requires_grad=True)\nWrong.apply(x).sum().backward()\nprint(x.grad)\n",
}


@pytest.fixture(scope="module")
def explain(toolchains: Path, toolchain: str, tmp_path_factory: pytest.TempPathFactory) -> Explain:
    groups = (NEVER_NO, STILL_NO, UNSTABLE, OTHERS, {name: row[0] for name, row in NOT_AMPLIFIED.items()})
    scripts = {name: HEAD + body for group in groups for name, body in group.items()}
    return dossiers_of(scripts, toolchains, toolchain, tmp_path_factory.mktemp("false-answers"))


@pytest.mark.sandbox
@pytest.mark.parametrize("name", NEVER_NO)
def test_a_wrong_number_or_a_decision_is_never_cleared(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert dossier.defect == "undecided"
    assert dossier.unknown or dossier.cause == "rounding_before_a_decision"
    assert "difference is rounding" not in dossier.summary


@pytest.mark.sandbox
@pytest.mark.parametrize("name", STILL_NO)
def test_what_only_looks_like_it_stays_cleared(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert (dossier.defect, dossier.cause, dossier.unknown) == ("no", "rounding", [])


@pytest.mark.sandbox
@pytest.mark.parametrize("name", UNSTABLE)
def test_steps_that_lose_digits_are_not_inputs_that_amplify(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert (dossier.defect, dossier.cause) == ("no", "ill_conditioned")
    assert "Float64 is nearer to the exact number" in dossier.cause_sentence


@pytest.mark.sandbox
@pytest.mark.parametrize("name", NOT_AMPLIFIED)
def test_what_is_only_rounding_is_not_called_ill_conditioned(explain: Explain, name: str) -> None:
    assert (explain(name).defect, explain(name).cause) == ("no", NOT_AMPLIFIED[name][1])


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["race", "race of threads that change places often"])
def test_what_two_threads_write_to_is_no_wrong_operation(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert (dossier.defect, dossier.cause) == ("undecided", None)


@pytest.mark.sandbox
def test_inputs_that_amplify_are_said_to_do_so(explain: Explain) -> None:
    assert "inputs amplify" in explain("hilbert").cause_sentence


@pytest.mark.sandbox
def test_float64_that_lost_its_digits_is_not_called_exact_and_a_residual_has_none(explain: Explain) -> None:
    lost, residual = explain("hilbert in float64"), explain("residual in float64")
    assert (lost.cause, lost.defect, len(lost.numbers)) == ("ill_conditioned", "undecided", 1)
    assert (residual.cause, residual.defect) == (None, "undecided")


@pytest.mark.sandbox
def test_nan_is_beyond_the_range_and_no_rounding(explain: Explain) -> None:
    dossier = explain("beyond the range")
    assert (dossier.defect, dossier.cause) == ("no", "rounding")
    assert "beyond the range of its type" in dossier.summary


@pytest.mark.sandbox
def test_a_number_that_only_agrees_with_float64_is_not_called_exact(explain: Explain) -> None:
    assert explain("its own derivative").summary.endswith("is exactly that of float64.")
