import torch

torch.manual_seed(229)
weight, gradient = torch.randn(50), torch.randn(50)
old = weight
weight.sub_(0.1 * gradient)
print("moved by", (weight - old).norm().item())
print("length of the step", (0.1 * gradient).norm().item())
