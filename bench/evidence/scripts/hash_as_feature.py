import torch

words = ["paper", "stone", "scissors"]
buckets = torch.tensor([hash(w) % 16 for w in words])
torch.manual_seed(125)
table = torch.randn(16, 2)
print("buckets", buckets)
print("feature", table[buckets].sum(0))
