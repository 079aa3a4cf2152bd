"""What rounding decides: orders, steps, what Python compares, and two formulas that look like one."""

from __future__ import annotations

from pathlib import Path

import pytest
from traced_scripts import Explain, dossiers_of

X = "x = (torch.arange(2000) * 7919 % 1009) / 1009\n"
SUMS = "x = (torch.arange(301) * 7919 % 1009) / 1009\na, b = x.cumsum(0)[-1], x.flip(0).cumsum(0)[-1]\n"
# The right answer of each was checked by exact arithmetic: the margin is less than a few roundings.
BY_ROUNDING = {
    "order of equal numbers in few digits": "h = (torch.arange(64) / 977).bfloat16()\n"
    "v, i = (h * h * 31 + 5).sort(descending=True)\nprint(i[:6], v.float().sum() / 3)\n",
    "largest where all are saturated": "s = torch.sigmoid(torch.linspace(12, 20, 30))\n"
    "print(s.topk(3).indices, s.mean())\n",
    "what an order of equal distances chooses": "a = torch.arange(12) * (3.141592653589793 / 6)\n"
    "p = torch.stack([a.cos(), a.sin()], 1)\norder = (p * 1.7).pow(2).sum(1).argsort()\n"
    "print((torch.arange(12) * 0.3)[order])\n",
    "how many are distinct": "k = torch.arange(1, 11)\nprint(torch.cat([k * 0.1, k / 10]).unique().numel())\n"
    "print((k / 10).sum())\n",
    "numbers on the edges of classes": "b = torch.arange(8) * (torch.tensor(0.7) / 7)\n"
    "x = torch.tensor([0.1, 0.2, 0.3])\nprint(torch.bucketize(x, b) / 3)\n",
    "a step that float64 takes as well": "x = torch.linspace(0, 1, 11) * 10 * 1.1 / 1.1\n"
    "print(x.long(), x.sum() / 3)\n",
    "a quotient without its rest": "k = torch.arange(1, 10) * 0.1\nprint(k // 0.1)\n",
    "points between two centres": "p, c = torch.tensor([0.15, 0.25]), torch.tensor([0.1, 0.2, 0.3])\n"
    "label = (p[:, None] - c).abs().min(1).indices\nprint(torch.tensor([1.0, 2.0, 4.0])[label] / 3)\n",
    "a ceiling of Python": "import math\nspan = torch.tensor(0.9) - torch.tensor(0.3)\n"
    "print(torch.ones(2) / (math.ceil(span.item() / 0.2) + 3))\n",
    "a division that rounds within": "a = torch.tensor([0.6, 0.9, 1.2])\n"
    "print(torch.div(a, 0.3, rounding_mode='floor') / 7)\n",
    "a count by a mask": "k = torch.arange(1, 10) * 0.1\nprint((k > 0.3).sum() / 3)\n",
    "cents of a price": "price = torch.tensor(0.29)\ncents = int(price * 100)\n"
    "print(torch.ones(3) * cents / 7)\n"
    "",
    "whole numbers of Python": "n = (torch.tensor(0.7) / 0.1).item() // 1\nprint(torch.ones(2) * n / 3)\n",
    "two sums that Python compares": SUMS + "print(x.mean() * (2 if a.item() > b.item() else 3))\n",
    "sums under other names": SUMS + "one = a.item()\nother = float(b)\nif one <= other:\n    x = x * 2\n"
    "print(x.mean())\n"
    "",
    "sums that a function gives": SUMS + "def size(of):\n    return of.item()\n"
    "print(x.mean() * (2 if size(a) > size(b) else 3))\n",
    "equality that goes on": "a, b = torch.tensor(0.1) + 0.2, torch.tensor(0.9) / 3\n"
    "if a.item() == b.item():\n    a = a * 2\nprint(a / 3)\n",
    "the best of losses that stay": "w, best, at = torch.tensor(0.3), float('inf'), 0\nfor k in range(60):\n"
    "    loss = (w * 3 - 0.7) ** 2 + 0.1\n    if loss.item() < best:\n        best, at = loss.item(), k\n"
    "    w = w - 0.3 * (w * 3 - 0.7)\nprint(torch.ones(2) * at / 3)\n",
    "the least by a key": "area = torch.tensor([0.2, 0.4, 0.6]) * torch.tensor([0.6, 0.3, 0.2]) * 1.1\n"
    "print(area[min(range(3), key=lambda i: area[i].item())] * torch.tensor([1.0, 2.0]) / 3)\n",
    "an order of a list": "s = (torch.tensor([0.1, 0.2, 0.3]) * 3 + torch.tensor([0.3, 0.2, 0.1]) * "
    "3).tolist()\n"
    ""
    "print(torch.tensor(sorted(range(3), key=s.__getitem__)) / 3)\n",
    "a difference and its tolerance": SUMS + "print('same' if abs(a.item() - b.item()) < 1e-5 else "
    "'other', a / 3)\n"
    "",
    "a divisor": X + "m = x.mean()\nprint(((x - m) ** 2).sum() / 2000, ((x - m) ** 2).sum() / 1999)\n",
    "a small number in one denominator": X + "x = x[:40] * 3\na = x.exp() / (x.exp().sum() + 0.1)\n"
    "e = (x - x.max()).exp()\nprint(a[:4], (e / e.sum())[:4])\n",
    "another number far back": X + "p = torch.softmax(x[:30] * 4, 0)\na = -(p * p.log()).sum()\n"
    "b = -(p * (p + 1e-3).log()).sum()\nprint(a.item(), b.item())\n",
    "a mean without its last element": X + "x = x.view(10, 200) + 1\nmask = torch.ones(10, 200)\n"
    "mask[:, -1] = 0\nprint(x.sum(1) / 200)\nprint((x * mask).sum(1) / mask.sum(1))\n",
    "a number under the root and beside it": X + "v = x.view(20, 100).var(1)\n"
    "print(1 / (v + 1e-3).sqrt())\nprint(1 / (v.sqrt() + 1e-3))\n",
}  # fmt: skip
# They look alike, and the margins are many roundings wide.
FAR = {
    "orders far from ties": X + "v, i = (x[:40] * 3 - 1).exp().sort()\nprint(v, i)\n",
    "near ties of which only the numbers are shown": "h = (torch.arange(64) / 977).bfloat16()\n"
    "print((h * h * 31 + 5).sort().values.float() / 3)\n",
    "equal elements that are exact": "x = torch.tensor([3.0, 1.0, 3.0, 2.0])\n"
    "print(x.argsort(descending=True, stable=True), x / 3)\n",
    "groups": "g = torch.arange(30) % 4\nu, c = g.unique(return_counts=True)\n"
    "print(u, torch.zeros(4).index_add_(0, g, torch.arange(30) / 101) / c)\n",
    "distinct numbers": "print((torch.arange(30) % 4 / 3).unique(), torch.arange(9).sum() / 7)\n",
    "exact whole numbers": "x = torch.arange(9.0) * 2\n"
    "print(torch.floor(x / 2) / 3, int(x[3]), x.sign() * 0.1)\n"
    "",
    "typed numbers that are equal": "a = (torch.tensor([0.3, 0.5]) * torch.tensor([0.5, 0.3])).tolist()\n"
    "print(torch.tensor([1.0, 2.0])[1 if a[1] > a[0] else 0] / 3)\n",
    "typed numbers in order": "x = torch.tensor([0.3, 0.1, 0.2, 0.3])\nprint(x.sort(), x.floor(), x / 3)\n",
    "exact quotients": "n = torch.arange(12.0)\nprint((n / 3).floor(), (n / 7).sum())\n",
    "batches": "n = torch.tensor(1000.0)\nprint(torch.ceil(n / 64), int(n.item() // 64), n / 7)\n",
    "counts": "x = torch.randn(50)\nhits = (x > 0.1234).float().sum()\n"
    "print(int(hits), (hits / 50).item(), x.mean())\n",
    "fractions": X + "x = x * 50 + 0.0013\nprint((x - torch.floor(x)).mean())\n",
    "numbers that Python compares": X + "if x.mean().item() > x.std().item():\n    print(x.mean() * 2)\n",
    "losses that fall": "w, best = torch.tensor(2.0), float('inf')\nfor k in range(8):\n"
    "    loss = (w * 3 - 0.7) ** 2\n    if loss.item() < best:\n        best = loss.item()\n"
    "    w = w - 0.12 * (w * 3 - 0.7)\nprint(w)\n",
    "a wide tolerance": SUMS + "if abs(a.item() - b.item()) < 1e-2:\n    print(a / 3)\n",
    "a mismatch that is told": SUMS + "if a.item() != b.item():\n"
    "    print('they differ', a.item(), b.item())\n"
    "",
    "one function in two ways": X + "x = x[:40] * 3\na = x.exp() / x.exp().sum()\n"
    "print(a, torch.softmax(x, 0))\n"
    "",
    "a loop that shows its number": "w = torch.tensor(1.0)\nfor k in range(5):\n"
    "    w = w - 0.001 * (w - 0.3)\n"
    ""
    "    print(w * w / 3)\n",
    "weights that are updated": "w = torch.ones(3, requires_grad=True)\nx = torch.rand(5, 3)\n"
    "first = (x @ w).square().mean()\nfirst.backward()\nwith torch.no_grad():\n    w -= 1e-3 * w.grad\n"
    "print(first)\nprint((x @ w).square().mean())\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def explain(toolchains: Path, toolchain: str, tmp_path_factory: pytest.TempPathFactory) -> Explain:
    scripts = {
        name: "import torch\ntorch.manual_seed(3)\n" + body
        for group in (BY_ROUNDING, FAR)
        for name, body in group.items()
    }
    return dossiers_of(scripts, toolchains, toolchain, tmp_path_factory.mktemp("decisions"))


@pytest.mark.sandbox
@pytest.mark.parametrize("name", BY_ROUNDING)
def test_what_rounding_decides_and_two_formulas_are_never_cleared(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert dossier.defect == "undecided"
    assert dossier.unknown or dossier.cause == "rounding_before_a_decision"


@pytest.mark.sandbox
@pytest.mark.parametrize("name", FAR)
def test_what_is_far_from_a_decision_stays_cleared(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert (dossier.defect, dossier.cause, dossier.unknown) == ("no", "rounding", [])
