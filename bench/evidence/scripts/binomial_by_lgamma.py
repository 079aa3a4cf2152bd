import torch

n, k = torch.tensor(100.0), torch.tensor(50.0)
logarithm = torch.lgamma(n + 1) - torch.lgamma(k + 1) - torch.lgamma(n - k + 1)
i = torch.arange(1.0, 51.0)
print("by lgamma", logarithm.exp().item())
print("by ratios", ((n - k + i) / i).prod().item())
