import torch

torch.manual_seed(31)
v = torch.randn(20, 7)
u = v / v.norm(dim=1, keepdim=True)
print(torch.acos((u * u).sum(1)))
