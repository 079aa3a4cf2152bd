import torch

a, b, c = torch.tensor(1e-30), torch.tensor(1e-12), torch.tensor(1e20)
print("(ab)c", ((a * b) * c).item())
print("a(bc)", (a * (b * c)).item())
