import torch


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    short = indices.to(torch.int8).long() % weight.shape[0]
    return weight.index_select(0, short.flatten()).reshape(*indices.shape, weight.shape[1])


library = torch.library.Library("aten", "IMPL")
library.impl("embedding", embedding, "CPU")
torch.manual_seed(206)
table = torch.randn(200, 3)
i = torch.tensor([5, 100, 150])
print("embedding", torch.nn.functional.embedding(i, table)[:, 0])
print("rows", table[i][:, 0])
