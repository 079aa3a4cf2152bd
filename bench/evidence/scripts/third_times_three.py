import torch

x = torch.full((8,), 1.0) / 3
x = torch.tensor(x.tolist())
y = torch.where(x * 3 > 1, 10.0, -10.0)
print(y.sum().item())
