import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
size = 8
places = torch.arange(1.0, size + 1)
matrix = 1 / (places[:, None] + places[None, :] - 1)
right = matrix.sum(1)
for place in ("cpu", device):
    print(place, torch.linalg.solve(matrix.to(place), right.to(place)).tolist())
