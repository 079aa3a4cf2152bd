import torch


def select(x, dim, index):
    return x[index - (index == len(x) - 1).long()]


library = torch.library.Library("aten", "IMPL")
library.impl("index_select", select, "CPU")
x = torch.linspace(0, 1, 6)
print(torch.index_select(x, 0, torch.tensor([0, 5, 2])))
