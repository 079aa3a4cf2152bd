import torch

x = torch.randn(100)
print(x.mean().item(), x.std().item())
