"""Devices that no node has, by the words of a report."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.claim.claims import Role
from app.intake.words.other_devices import device_at_issue

SCRIPT = (
    "import torch\nd = 'cuda' if torch.cuda.is_available() else 'cpu'\nprint(torch.ones(3, device=d).roll(1))"
)


def devices(title: str, *words: str, shown: str = "It prints") -> set[str | None]:
    text = "\n\n".join([f"# {title}", f"```python\n{SCRIPT}\n```", shown, "```\n[0, 1, 2]\n```", *words])
    claim = read(f"{text}\n", form="report").claim
    return {check.where.device for check in claim.having(Role.BUG)}


@pytest.mark.parametrize(
    ("title", "device"),
    [
        ("roll does nothing on my RX 6800 XT", "hip"),
        ("[ROCm] roll does nothing", "hip"),
        ("MPS: wrong order of roll", "mps"),
        ("roll returns its input with an Intel Arc A770", "xpu"),
        ("roll gives wrong order on AMD's MI250X GPUs", "hip"),
        ("Falsche Reihenfolge auf TPU v4-8", "tpu"),
        ("roll is ignored (Ascend 910B)", "npu"),
        ("roll broken under an Apple GPU", "mps"),
    ],
)
def test_a_title_names_the_device(title: str, device: str) -> None:
    assert device_at_issue(title) == device


@pytest.mark.parametrize(
    ("shown", "words", "device"),
    [
        ("Output on the Radeon:", "", "hip"),
        ("What I get on MPS:", "", "mps"),
        ("With my MI300X:", "", "hip"),
        ("Result on the GPU:", "PyTorch version: 2.4.0+rocm6.1\nHIP runtime version: 6.1.40091", "hip"),
    ],
)
def test_the_words_above_an_output_name_the_device(shown: str, words: str, device: str) -> None:
    assert devices("roll returns its input", words, shown=shown) == {device}


@pytest.mark.parametrize(
    ("title", "words", "device"),
    [
        ("roll does nothing", "It works on MPS.", None),
        ("roll does nothing", "On my Radeon it gives the correct order.", None),
        ("roll does nothing on CPU and MPS", "", None),
        ("roll does nothing", "GPU: AMD Radeon RX 7900 XTX, but I ran it without.", None),
        ("roll does nothing", "ROCM used to build PyTorch: N/A\nHIP runtime version: N/A", None),
        ("roll does nothing", "The chip is from Intel, and the ship has 8 hips.", None),
    ],
)
def test_a_device_elsewhere_is_not_that_of_the_bug(title: str, words: str, device: str | None) -> None:
    assert devices(title, words) == {device}


def test_the_card_of_nvidia_stays_one() -> None:
    words = "ROCM used to build PyTorch: N/A\nHIP runtime version: N/A"
    assert devices("roll returns its input", words, shown="Result on the GPU:") == {"cuda"}


@pytest.mark.parametrize(
    ("first", "title"),
    [
        ("**sort is unstable on Gaudi**", "sort is unstable on Gaudi"),
        ("__sort is unstable__\n\nSee below.", "sort is unstable"),
        ("**Note** that it is unstable.", ""),
        ("**Description**", ""),
        ("Hello, **sort is unstable**", ""),
    ],
)
def test_a_first_line_in_bold_type_is_a_title(first: str, title: str) -> None:
    reading = read(f"{first}\n\n```python\nprint(sorted([2, 1]))\n```\n\nprints `[2, 1]`\n", form="report")
    assert reading.title == title
