import torch

a = torch.tensor([200, 10, 255], dtype=torch.uint8)
b = torch.tensor([100, 20, 1], dtype=torch.uint8)
print("bytes", (a + b).tolist())
print("integers", (a.int() + b.int()).tolist())
