import torch

x = torch.tensor([float("inf"), float("nan"), 1e20, -1e20])
print(x.to(torch.int32))
print(x.to(torch.int64))
