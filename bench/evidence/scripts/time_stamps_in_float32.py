import torch

start = torch.tensor([1700000000, 1700000100, 1700000200])
end = start + 90
print("seconds in float32", (end.float() - start.float()).tolist())
print("seconds in integers", (end - start).tolist())
