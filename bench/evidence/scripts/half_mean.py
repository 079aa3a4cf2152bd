import torch

torch.manual_seed(2)
x = torch.rand(3000).half()
print("half", x.mean().item())
print("float", x.float().mean().item())
