import torch

price = torch.tensor([0.29, 0.57, 0.58, 1.15])
print("float32", (price * 100).int().tolist())
print("float64", (price.double() * 100).int().tolist())
