"""Ten reports that want a card, of ten kinds, for `cards.py`. Each is a script and its claim."""

from __future__ import annotations

HEAD = "import torch\n"
# name: (script, claim). `{cuda}` is the device. The numbers of the claims are wrong or right on any card.
REPORTS: dict[str, tuple[str, str]] = {
    "raises": (
        "a, b = torch.ones(2, 3, device='{cuda}'), torch.ones(2, 3, device='{cuda}')\nprint(a @ b)\n",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)",
    ),
    "raised before": (
        "x = torch.arange(6, device='{cuda}').reshape(2, 3)\nprint(x.flip(0).sum().item())\n",
        "RuntimeError: flip is not implemented for this device",
    ),
    "raises another": (
        "torch.linalg.cholesky(-torch.eye(3, device='{cuda}'))\n",
        "ValueError: the matrix must be symmetric",
    ),
    "wrong number": (
        "x = torch.full((1000,), 0.1, device='{cuda}')\nprint(round(x.sum().item(), 2))\n",
        "It prints 99.5 but it should print 100.0.",
    ),
    "right number": (
        "x = torch.tensor([2.0], device='{cuda}')\nprint((x * 3).item())\n",
        "It prints 6.0 but it should print 5.0.",
    ),
    "not a number": (
        "x = torch.tensor([-1.0, 4.0], device='{cuda}')\nprint(x.sqrt().sum().item())\n",
        "It prints nan.",
    ),
    "assertion": (
        (
            "x = torch.tensor([1e8, 1.0, -1e8], device='{cuda}', dtype=torch.float16)\n"
            "assert torch.isfinite(x).all(), 'not finite'\n"
        ),
        "AssertionError: not finite",
    ),
    "out of memory": (
        "x = torch.empty(1 << 50, dtype=torch.uint8, device='{cuda}')\n",
        "torch.OutOfMemoryError: CUDA out of memory.",
    ),
    "fault of the card": (
        "i = torch.tensor([9], device='{cuda}')\nx = torch.ones(4, device='{cuda}')[i]\nprint(x.cpu())\n",
        "CUDA error: device-side assert triggered",
    ),
    "no claim": (
        (
            "torch.manual_seed(0)\na = torch.randn(2048, 2048, device='{cuda}')\n"
            "for _ in range(50):\n    a = a @ a\n    a = a / a.norm()\nprint(a.sum().item())\n"
        ),
        "",
    ),
}


def bodies(device: str, mark: str) -> dict[str, dict[str, object]]:
    """The bodies of their submissions by name. `mark` makes the scripts differ from those of another call."""
    cuda = "cuda" if device == "cuda" else "cpu"
    return {
        f"{name} {mark}": {
            "script": f"# {mark}\n{HEAD}{script.replace('{cuda}', cuda)}",
            **({"claim": claim} if claim else {}),
            "targets": [{"device": device}],
            "title": name,
        }
        for name, (script, claim) in REPORTS.items()
    }
