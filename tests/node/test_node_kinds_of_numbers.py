"""Numbers at the end of a type's range, indices, ties, sums with signs, and float64 beside narrower types."""

from __future__ import annotations

from pathlib import Path

import pytest
from traced_scripts import Explain, dossiers_of

HEAD = "import torch\ntorch.manual_seed(3)\n"
REGISTERED = HEAD + 'library = torch.library.Library("aten", "IMPL")\nlibrary.impl("{}", {}, "CPU")\n'
# Every step is as exact as its type allows, and one of them leaves the range of the type.
RANGE = {
    "squares below the range": "x = torch.full((6,), 3e-23)\nprint((x * x).sum() * 1e30, x.sum())\n",
    "halves below the range": "x = torch.full((6,), 2e-4).half()\nprint((x * x).float() * 1e6)\n",
    "squares above the range": "x = torch.tensor([3e19, 4e19])\nprint((x * x).sum().sqrt(), x.sum())\n",
    "infinite range": "x = torch.tensor([90.0, 200.0])\nprint(x.exp() / x.exp().sum(), x.softmax(0))\n",
    "halves above the range": "x = torch.tensor([300.0, 2.0]).half()\nprint((x * x).float() / 300)\n",
}
# The kernel is wrong, and the range of the type is no excuse.
BEYOND = {
    "aten::exp": ("lambda x: torch.where(x < -40, 0.0, x.sinh() + x.cosh())", "torch.tensor([-50.0]).exp()"),
    "aten::logsumexp": (
        "lambda x, dim, keepdim=False: x.exp().sum(dim, keepdim).log()",
        "torch.tensor([120.0, 119.0]).logsumexp(0)",
    ),
    "aten::argmin": (
        "lambda x, dim=None, keepdim=False: x.narrow(dim, 1, x.shape[dim] - 1).min(dim).indices",
        "torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]]).argmin(1)",
    ),
}
TIED = "x = torch.tensor([1.0, 3.0, 3.0, 2.0])\n"
CHOSEN = {
    "tie": (TIED + "print(x.argmax().item(), 3 - x.flip(0).argmax().item())\n", "no", "sign_or_order"),
    "tie of rows": (TIED + "print(x.reshape(2, 2).t().argmin(1), x.view(2, 2).argmax(0, keepdim=True))\n",
                    "undecided", None),
    "tie beside rounding": (TIED + "print(x.argmax().item(), (x / 3).exp().sum())\n", "no", "rounding"),
    "no tie": ("print(torch.tensor([1.0, 3.0, 2.0]).argmax().item())\n", "undecided", None),
    "no number": ("print(torch.tensor([1.0, float('nan'), 3.0, 3.0]).argmax().item())\n", "undecided", None),
    "its own kernel, and right": (
        'library = torch.library.Library("aten", "IMPL")\n'
        'library.impl("argmax", lambda x, dim=None, keepdim=False: x.max(0).indices, "CPU")\n'
        + TIED + "print(x.argmax())\n", "undecided", None,
    ),
}  # fmt: skip
CLOSE = "x = torch.randn(500)\np, q = x.softmax(0), (x + 1e-4 * torch.randn(500)).softmax(0)\n"
SIGNED = {
    # A divergence adds terms of both signs, and is no distance of two tensors.
    "divergence": (CLOSE + "print((p * p.log() - p * q.log()).sum())\n", "no"),
    # Another formula by design: the mean of the differences is far from what random signs give.
    "another formula": (
        "x = torch.rand(400) + 1\nprint((x.sqrt() * 1.001 - x.pow(0.5)).mean())\n",
        "undecided",
    ),
    "itself": ("a = torch.randn(9)\nb = a\na.add_(0.1)\nprint((a - b).norm(), a.exp().sum())\n", "undecided"),
    "itself by a view": (
        "a = torch.randn(9)\nb = a.detach()\na.mul_(1.1)\nprint((a - b).abs().max(), a.exp().sum())\n",
        "undecided",
    ),
    "a part of itself": ("a = torch.rand(9)\nprint((a[1:] - a[:-1]).exp().sum())\n", "no"),
}
F = "f = lambda d: (torch.arange(1, 9, dtype=d) / 7).exp()\n"
WIDE = {
    "the same in float64": (F + "print(f(torch.float32).log1p(), f(torch.float64).log1p())\n", "no"),
    "float64 alone": ("print((torch.arange(1, 9, dtype=torch.float64) / 7).exp())\n", "undecided"),
    # Nothing has checked the sine of float64.
    "another operation": (
        "x = torch.arange(1, 9) / 7\nprint(x.exp(), x.double().sin())\n", "undecided"),
    "more of float64": (
        F + "print(f(torch.float32), f(torch.float64), f(torch.float64) + 1)\n", "undecided"),
}  # fmt: skip
SUM = "x = torch.tensor(0.1) + torch.tensor([0.2, 0.3])\n"
MASKS = {
    # 0.1 + 0.2 is above 0.3 in float32, and below it in float64.
    "chosen by a mask": (SUM + "print(torch.where(x > 0.3, x.exp(), -x))\n", "rounding_before_a_decision"),
    "filled by a mask": (SUM + "print(x.masked_fill(x > 0.3, 7.0) / 3)\n", "rounding_before_a_decision"),
    "infinite by a mask": (
        SUM + "print(x.masked_fill(x > 0.3, -torch.inf).exp() / 3 + x)\n", "rounding_before_a_decision"),
    "multiplied by a mask": (SUM + "print(x * (x > 0.3))\n", "rounding_before_a_decision"),
    "filled in place": (
        SUM + "m = x > 0.3\nx.masked_fill_(m, 7.0)\nprint(x / 3)\n", "rounding_before_a_decision"),
    # Both pieces meet there.
    "at a joint": (SUM + "print(torch.where(x > 0.3, x, 0.6 - x))\n", "rounding"),
    "the same mask": (SUM + "print(torch.where(x > 0.2, x.exp(), -x))\n", "rounding"),
}  # fmt: skip
HALF_GONE = "x, h = torch.tensor(2.3), 3e-5\nprint(((x + h).exp() - (x - h).exp()) / (2 * h))\n"
MASK = (
    "s = torch.randn(4, 4) + torch.full((4, 4), torch.finfo(torch.float32).min).triu(1)\n"
    "print(s.softmax(1) @ torch.randn(4, 3))\n"
)
COMPILED = "f = torch.compile(lambda x: x.exp() / 3, backend='eager')\nprint(f(torch.randn(5)))\n"
SCRIPTS = {
    **{name: HEAD + text for name, text in RANGE.items()},
    **{
        name: REGISTERED.format(name[6:], function) + f"print({call})\n"
        for name, (function, call) in BEYOND.items()
    },
    **{
        name: HEAD + text
        for name, (text, *_) in (*CHOSEN.items(), *SIGNED.items(), *WIDE.items(), *MASKS.items())
    },
    "half gone": HEAD + HALF_GONE,
    "mask": HEAD + MASK,
    "compiled": HEAD + COMPILED,
}


@pytest.fixture(scope="module")
def explain(toolchains: Path, toolchain: str, tmp_path_factory: pytest.TempPathFactory) -> Explain:
    return dossiers_of(SCRIPTS, toolchains, toolchain, tmp_path_factory.mktemp("scripts"))


def operation(explain: Explain, name: str) -> str | None:
    return next(each.answer for each in explain(name).questions if each.letter == "C")


@pytest.mark.sandbox
@pytest.mark.parametrize("name", RANGE)
def test_what_leaves_the_range_of_a_type_is_explained_by_it(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert dossier.cause in {"rounding", "ill_conditioned"}
    assert not any(side.explained is False for number in dossier.numbers for side in number.sides)
    assert dossier.defect == "no"


@pytest.mark.sandbox
@pytest.mark.parametrize("name", BEYOND)
def test_a_wrong_kernel_has_no_excuse_in_the_range_of_its_type(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert (dossier.defect, dossier.cause, operation(explain, name)) == ("yes", "unexplained", name)


@pytest.mark.sandbox
@pytest.mark.parametrize("name", CHOSEN)
def test_one_of_several_equal_elements_is_a_free_choice(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert (dossier.defect, dossier.cause) == CHOSEN[name][1:]


@pytest.mark.sandbox
@pytest.mark.parametrize("name", SIGNED)
def test_only_a_distance_of_two_tensors_compares_them(explain: Explain, name: str) -> None:
    dossier = explain(name)
    assert dossier.defect == SIGNED[name][1]
    assert any("with itself" in gap for gap in dossier.unknown) == name.startswith("itself")


@pytest.mark.sandbox
@pytest.mark.parametrize("name", WIDE)
def test_float64_is_checked_by_the_narrower_type_beside_it(explain: Explain, name: str) -> None:
    assert explain(name).defect == WIDE[name][1]


@pytest.mark.sandbox
@pytest.mark.parametrize("name", MASKS)
def test_a_mask_that_rounding_decides_counts_if_numbers_follow_it(explain: Explain, name: str) -> None:
    assert explain(name).cause == MASKS[name][1]


@pytest.mark.sandbox
def test_a_number_that_lost_half_of_its_digits_is_ill_conditioned(explain: Explain) -> None:
    dossier = explain("half gone")
    assert (dossier.cause, dossier.defect) == ("ill_conditioned", "no")


@pytest.mark.sandbox
def test_a_mask_of_the_least_number_is_no_overflow(explain: Explain) -> None:
    (side,) = next(number for number in explain("mask").numbers if number.name == "print[0]").sides
    assert side.rounding is not None
    assert 0 < side.rounding < 1e-5


@pytest.mark.sandbox
def test_the_guards_of_the_compiler_are_no_implementation_of_the_script(explain: Explain) -> None:
    answer = next(each.answer for each in explain("compiled").questions if each.letter == "E")
    assert answer == "no"
