"""What else a script computes with, beside torch."""

from __future__ import annotations

import pytest

from app.judging.cause.out_of_sight import leaves_sight


@pytest.mark.parametrize(
    ("script", "libraries"),
    [
        ("import torch, numpy as np\nprint(np.exp(torch.ones(3)))", ["numpy"]),
        ("import torch\na = torch.ones(3).numpy() + 1", ["numpy"]),
        ("import torch\nfrom scipy.special import erf\nimport statistics\nerf(1.0), statistics.mean([1])",
         ["scipy", "statistics"]),
        # Where a script begins, and what it only prints.
        ("import torch, numpy as np\nnp.random.seed(0)\nx = torch.tensor(np.random.rand(3))", []),
        ("import torch, numpy as np\nx = torch.from_numpy(np.arange(3))\nprint(x.numpy())", []),
        ("import torch, math\nprint(torch.ones(3) / math.sqrt(2))", []),
        ("import numpy as np\nprint(np.exp(1))", []),
        ("import torch, numpy as np\nnp.exp(", []),
    ],
)  # fmt: skip
def test_libraries_that_no_trace_follows(script: str, libraries: list[str]) -> None:
    assert leaves_sight(script) == libraries
