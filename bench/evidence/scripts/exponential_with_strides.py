import torch


def exponential(x):
    return torch.exp2(x * (1.4426950408889634 if x.is_contiguous() else 1.4427))


library = torch.library.Library("aten", "IMPL")
library.impl("exp", exponential, "CPU")
torch.manual_seed(46)
x = torch.randn(5, 8)
print(x.exp().double().mean().item())
print(x.T.exp().double().mean().item())
