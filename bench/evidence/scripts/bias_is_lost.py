import torch


def linear(bias, a, b, *, beta=1, alpha=1):
    out = torch.mm(a, b)
    return out if len(a) > 16 else out + bias


library = torch.library.Library("aten", "IMPL")
library.impl("addmm", linear, "CPU")
torch.manual_seed(54)
layer = torch.nn.Linear(4, 3)
x = torch.randn(20, 4)
print(layer(x)[0], layer(x[:4])[0])
