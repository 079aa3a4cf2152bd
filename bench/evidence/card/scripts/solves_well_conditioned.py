import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
matrix = torch.randn(64, 64)
matrix = matrix @ matrix.T + 64 * torch.eye(64)
right = torch.randn(64, 3)
for place in ("cpu", device):
    here, there = matrix.to(place), right.to(place)
    factor = torch.linalg.cholesky(here)
    print(place, torch.cholesky_solve(there, factor)[0].tolist(), torch.linalg.inv(here)[0, 0].item(), torch.linalg.slogdet(here)[1].item())
