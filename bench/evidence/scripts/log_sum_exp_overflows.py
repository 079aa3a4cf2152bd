import torch

x = torch.tensor([100.0, 99.0, 95.5])
print("by hand", x.exp().sum().log().item())
print("torch", x.logsumexp(0).item())
