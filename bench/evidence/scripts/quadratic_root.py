import torch

a, b, c = torch.tensor(1.0), torch.tensor(1234.5), torch.tensor(0.7)
root = (b * b - 4 * a * c).sqrt()
print("textbook", ((-b + root) / (2 * a)).item())
print("stable", (-2 * c / (b + root)).item())
