import torch


def scatter_add(x, dim, index, source):
    return x.scatter(dim, index, x.gather(dim, index) + source)


library = torch.library.Library("aten", "IMPL")
library.impl("scatter_add", scatter_add, "CPU")
torch.manual_seed(211)
value = torch.rand(10)
index = torch.tensor([0, 1, 2, 2, 3, 0, 1, 3, 3, 2])
total = torch.scatter_add(torch.zeros(4), 0, index, value)
print("scatter_add", total)
print("by masks", torch.stack([value[index == i].sum() for i in range(4)]))
