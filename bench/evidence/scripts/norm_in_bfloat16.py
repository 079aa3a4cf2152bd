import torch


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    squares = x.to(torch.bfloat16)
    squares = squares * squares
    total = squares.sum() if dim is None else squares.sum(dim, keepdim)
    return total.sqrt().to(x.dtype)


library = torch.library.Library("aten", "IMPL")
library.impl("linalg_vector_norm", vector_norm, "CPU")
torch.manual_seed(209)
x = torch.randn(500)
print("norm", torch.linalg.vector_norm(x).item())
print("by dot", x.dot(x).sqrt().item())
