import torch

torch.manual_seed(124)
a = torch.randn(5, 3)
columns = []
for j in range(3):
    v = a[:, j]
    for u in columns:
        v = v - (u @ a[:, j]) * u
    columns.append(v / v.norm())
q = torch.stack(columns, 1)
print("by hand", (q.T @ a).diagonal())
print("torch", torch.linalg.qr(a).R.diagonal())
