import torch


def product(a, b):
    return (a.bfloat16().unsqueeze(2) * b.bfloat16().unsqueeze(0)).sum(1).float()


library = torch.library.Library("aten", "IMPL")
library.impl("mm", product, "CPU")
torch.manual_seed(42)
a, b = torch.randn(24, 24), torch.randn(24, 24)
print((a @ b)[0, :5])
print((a @ b).sum().item())
