import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(17)
square = torch.randn(20, 20)
matrix = (square @ square.T / 20 + torch.eye(20)).to(device)
right = torch.randn(20, 2).to(device)
factor = torch.linalg.cholesky(matrix)
print(torch.cholesky_solve(right, factor)[:3, 0].cpu())
print(torch.linalg.inv(matrix)[0, :3].cpu(), torch.linalg.slogdet(matrix).logabsdet.item())
