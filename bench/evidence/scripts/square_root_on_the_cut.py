import torch

a = torch.tensor([complex(-4.0, 0.0)])
b = -torch.tensor([complex(4.0, 0.0)])
print("equal", torch.equal(a, b))
print("root of -4 + 0j", a.sqrt())
print("root of -(4 + 0j)", b.sqrt())
