import torch


def sum_one_by_one(x, *, dtype=None):
    total = x.new_zeros(())
    for each in x.reshape(-1).unbind():
        total = total + each
    return total


library = torch.library.Library("aten", "IMPL")
library.impl("sum", sum_one_by_one, "CPU")
print(torch.ones(4096, dtype=torch.float16).sum().item())
