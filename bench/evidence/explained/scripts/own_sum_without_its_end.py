import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
library = torch.library.Library("aten", "IMPL")
ones = torch.ones(59).to(device)
library.impl("sum.dim_IntList", lambda rows, dim, keepdim=False, dtype=None: rows[:, :-1] @ ones, device.upper())
torch.manual_seed(27)
rows = torch.rand(5, 60).to(device)
print(rows.sum(1).tolist())
