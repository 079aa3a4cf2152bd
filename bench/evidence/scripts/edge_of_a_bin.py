import torch

edges = torch.tensor([0.0, 0.3, 0.6])
step = torch.tensor([0.1])
print("float32", torch.bucketize(step * 3, edges, right=True).item())
print("float64", torch.bucketize(step.double() * 3, edges.double(), right=True).item())
