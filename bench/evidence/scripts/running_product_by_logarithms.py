import torch

torch.manual_seed(116)
x = 1 + torch.rand(120)
torch.set_printoptions(precision=8)
print("cumprod", x.cumprod(0)[-3:])
print("by logarithms", x.log().cumsum(0).exp()[-3:])
