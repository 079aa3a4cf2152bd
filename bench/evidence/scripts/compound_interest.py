import torch

rate = torch.tensor(1.0001)
money = torch.tensor(1.0)
for _ in range(1000):
    money = money * rate
print(money.item(), (rate**1000).item())
