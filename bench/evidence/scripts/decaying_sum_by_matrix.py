import torch

torch.manual_seed(117)
x = torch.randn(64)
y = torch.tensor(0.0)
for v in x:
    y = 0.95 * y + v
power = 0.95 ** torch.arange(63, -1, -1)
print("loop", y.item())
print("powers", (power * x).sum().item())
