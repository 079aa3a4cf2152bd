import torch

torch.manual_seed(221)
x = torch.randn(300)
used = [torch.full((300,), 3.0 + i) for i in range(40)]
del used
root = torch.empty(300)
positive = x > 0
root[positive] = x[positive].sqrt()
print("sum of roots", root.sum().item())
print("sum over positive", x[positive].sqrt().sum().item())
