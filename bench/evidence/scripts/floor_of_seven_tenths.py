import torch

x = torch.tensor([0.7, 0.2, 0.4])
print(torch.floor(x * 10).sum().item())
