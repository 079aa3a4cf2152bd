import torch


def variance(x, dim=None, *, correction=None, keepdim=False):
    return (x * x).mean() - x.mean() * x.mean()


library = torch.library.Library("aten", "IMPL")
library.impl("var.correction", variance, "CPU")
torch.manual_seed(66)
x = torch.randn(2000) + 1000
print(x.var(correction=0).item())
