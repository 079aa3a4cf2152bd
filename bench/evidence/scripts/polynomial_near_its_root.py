import torch

x = torch.tensor([0.97, 0.99, 1.01, 1.03])
c = [1.0, -7.0, 21.0, -35.0, 35.0, -21.0, 7.0, -1.0]
y = torch.zeros(4)
for v in c:
    y = y * x + v
print("expanded", y)
print("factored", (x - 1) ** 7)
