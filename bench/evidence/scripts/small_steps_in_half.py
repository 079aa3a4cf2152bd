import torch

half = torch.tensor(3.5, dtype=torch.float16)
full = torch.tensor(3.5)
for _ in range(900):
    half = half + 0.001
    full = full + 0.001
print("float16", half.item())
print("float32", full.item())
