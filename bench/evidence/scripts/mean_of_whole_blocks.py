import math

import torch


def mean(x, dim, keepdim=False, *, dtype=None):
    dims = dim if dim else list(range(x.dim()))
    count = math.prod(x.shape[d] for d in dims)
    return x.sum(dims, keepdim) / (count // 8 * 8)


library = torch.library.Library("aten", "IMPL")
library.impl("mean.dim", mean, "CPU")
torch.manual_seed(202)
x = torch.rand(1003, 3)
print("mean", x.mean(0))
print("sum over count", x.sum(0) / 1003)
