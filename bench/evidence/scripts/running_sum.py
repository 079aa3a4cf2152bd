import torch

torch.manual_seed(32)
x = torch.rand(20_000)
print(x.cumsum(0)[-1].item(), x.sum().item())
total = torch.tensor(0.0)
for part in x.split(1000):
    total = total + part.sum()
print(total.item())
