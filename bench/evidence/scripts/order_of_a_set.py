import torch

weights = {"alpha": 0.1, "beta": 1e8, "gamma": -1e8, "delta": 0.3, "epsilon": 0.7, "zeta": -0.2}
total = torch.tensor(0.0)
for name in set(weights):
    total = total + weights[name]
print(total.item())
