import torch

n = 8
i = torch.arange(n, dtype=torch.float32)
hilbert = 1 / (i[:, None] + i[None, :] + 1)
right = hilbert.sum(1)
print(torch.linalg.solve(hilbert, right))
