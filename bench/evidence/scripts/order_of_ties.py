import torch

torch.manual_seed(14)
x = torch.randint(0, 4, (200,)).float()
print("topk", torch.topk(x, 6).indices.sort().values)
print("sort", torch.sort(x, descending=True).indices[:6].sort().values)
