import torch

torch.manual_seed(102)
a, b = torch.randn(300, 70), torch.randn(300, 70)
print("mse_loss", torch.nn.functional.mse_loss(a, b).item())
print("norm squared over n", ((a - b).norm() ** 2 / a.numel()).item())
