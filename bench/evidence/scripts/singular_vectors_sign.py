import torch

torch.manual_seed(13)
a = torch.randn(6, 4)
u, s, _ = torch.linalg.svd(a, full_matrices=False)
u2, s2, _ = torch.linalg.svd(-a.flip(0), full_matrices=False)
print("first", u[0])
print("second", u2.flip(0)[0])
print(torch.allclose(s, s2))
