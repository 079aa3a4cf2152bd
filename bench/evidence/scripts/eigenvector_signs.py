import torch

torch.manual_seed(121)
q, _ = torch.linalg.qr(torch.randn(6, 6))
a = q @ torch.diag(torch.arange(1.0, 7.0)) @ q.T
a = (a + a.T) / 2
w1, v1 = torch.linalg.eigh(a)
w2, v2 = torch.linalg.eigh(a.flip(0, 1))
v2 = v2.flip(0)
print("values", w1)
print("values of the flipped", w2)
print("vectors", v1[0])
print("vectors of the flipped", v2[0])
