import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
matrix = torch.randn(24, 24)
matrix = matrix + matrix.T
for place in ("cpu", device):
    values, vectors = torch.linalg.eigh(matrix.to(place))
    print(place, values[:3].tolist(), vectors[0, :3].tolist())
