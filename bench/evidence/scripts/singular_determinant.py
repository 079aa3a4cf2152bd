import torch

torch.manual_seed(5)
row = torch.randn(1, 5)
matrix = torch.randn(5, 1) @ row
print(torch.linalg.det(matrix).item(), torch.logdet(matrix @ matrix.T + 1e-7 * torch.eye(5)).item())
