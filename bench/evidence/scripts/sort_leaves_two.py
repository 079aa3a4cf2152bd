import torch


def sort(x, dim=-1, descending=False):
    values, places = torch.topk(x, x.shape[dim], dim, descending)
    order = torch.arange(x.shape[dim])
    order[-2:] = order[-2:].flip(0)
    return values[order], places[order]


library = torch.library.Library("aten", "IMPL")
library.impl("sort", sort, "CPU")
print(torch.sort(torch.tensor([0.3, 0.1, 0.9, 0.5])).values)
