import torch


def running_sum(x, dim, *, dtype=None):
    return torch.ones(len(x), len(x)).tril(-1) @ x


library = torch.library.Library("aten", "IMPL")
library.impl("cumsum", running_sum, "CPU")
print(torch.cumsum(torch.tensor([0.5, 0.25, 2.0, 3.0]), 0))
