import torch

x = torch.tensor([1e-6, 3e-6, 7e-7])
print(torch.log(1 + x))
print(torch.log1p(x))
