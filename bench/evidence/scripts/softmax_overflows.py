import torch


def softmax(x, dim, half_to_float):
    e = torch.exp(x)
    return e / torch.cumsum(e, dim).select(dim, -1).unsqueeze(dim)


library = torch.library.Library("aten", "IMPL")
library.impl("_softmax", softmax, "CPU")
print(torch.softmax(torch.tensor([[1.0, 2.0, 100.0]]), 1))
