import torch

x1 = y1 = x2 = y2 = torch.tensor(0.1)
for _ in range(60):
    x1, y1 = 1 - 1.4 * x1 * x1 + y1, 0.3 * x1
    x2, y2 = 1 + y2 - 1.4 * (x2 * x2), 0.3 * x2
print("first order", x1.item())
print("second order", x2.item())
