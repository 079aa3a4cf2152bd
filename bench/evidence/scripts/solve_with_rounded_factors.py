import torch


def solve(a, b, *, left=True, check_errors=False):
    factors, pivots, info = torch.linalg.lu_factor_ex(a)
    return torch.linalg.lu_solve(factors.half().float(), pivots, b), factors, pivots, info


library = torch.library.Library("aten", "IMPL")
library.impl("_linalg_solve_ex", solve, "CPU")
torch.manual_seed(52)
a = torch.eye(6) * 4 + torch.rand(6, 6)
print(torch.linalg.solve(a, torch.ones(6, 1)).flatten())
