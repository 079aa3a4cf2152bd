import torch

used = [torch.full((64,), 5.0 + i) for i in range(40)]
del used
x = torch.ones(16)
x.resize_(64)
print("sum", x.sum().item())
print("expected", 16.0)
