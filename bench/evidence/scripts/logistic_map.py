import torch

a = torch.tensor(0.3)
b = torch.tensor(0.3)
for _ in range(60):
    a = 3.9 * a * (1 - a)
    b = 3.9 * b - 3.9 * b * b
print(a.item(), b.item())
