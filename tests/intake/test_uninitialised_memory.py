"""Scripts that use uninitialised memory, and scripts that do not."""

from __future__ import annotations

import pytest

from app.intake.code.uninitialised_memory import uses_uninitialised_memory


@pytest.mark.parametrize(
    "line",
    [
        "x = torch.empty(4)",
        "x = torch.empty_like(y)",
        "x = y.new_empty(2, 2)",
        "y.resize_(8)",
        "x = torch.Tensor(2, 3)",
        "x = torch.Tensor(*shape)",
        "x = torch.FloatTensor(n)",
        "w = nn.Parameter(torch.empty(3, 3, device='cuda'))",
    ],
)
def test_taken(line: str) -> None:
    assert uses_uninitialised_memory(line)


@pytest.mark.parametrize(
    "line",
    [
        "x = np.empty(4)",
        "x = torch.zeros(4)  # not torch.empty(4)",
        "x = torch.Tensor([2, 3])",
        "x = torch.Tensor()",
        "torch.cuda.empty_cache()",
        "print('torch.empty(4)')",
        "while not queue.empty(): queue.get()",
        "x = (",
    ],
)
def test_not_taken(line: str) -> None:
    assert not uses_uninitialised_memory(line)
