import torch


def sum_in_blocks(x, *, dtype=None):
    whole = x.reshape(-1)[: x.numel() // 4 * 4]
    return whole.cumsum(0)[-1]


library = torch.library.Library("aten", "IMPL")
library.impl("sum", sum_in_blocks, "CPU")
torch.manual_seed(41)
x = torch.rand(1003)
print(x.sum().item(), x.mean().item() * 1003)
