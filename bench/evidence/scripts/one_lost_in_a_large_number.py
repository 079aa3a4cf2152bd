import torch

big = torch.tensor(1e8)
print(((big + 1) - big).item())
print((big * 1.1 - big - big * 0.1).item())
