import torch

used = [torch.full((3, 40), 2.0 + i) for i in range(40)]
del used
rows = [torch.arange(n, dtype=torch.float32) / n for n in (40, 25, 9)]
batch = torch.empty(3, 40)
for i, row in enumerate(rows):
    batch[i, : len(row)] = row
print("padded", batch.sum(1) / 40)
print("by rows", torch.stack([row.sum() for row in rows]) / 40)
