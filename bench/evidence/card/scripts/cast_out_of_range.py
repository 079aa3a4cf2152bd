import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
values = torch.tensor([float("nan"), float("inf"), 3e10, -5.5, 1e20])
for place in ("cpu", device):
    print(place, values.to(place).int().tolist(), values.to(place).to(torch.uint8).tolist())
