import torch

torch.manual_seed(1)
x = torch.randn(10_007)
print(x.sum().item())
print(x.sort().values.sum().item())
