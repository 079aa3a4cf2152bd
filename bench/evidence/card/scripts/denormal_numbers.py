import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
values = torch.tensor([1e-38, 3e-39, 1e-42, 1e-45])
for place in ("cpu", device):
    here = values.to(place)
    print(place, (here * 0.5).tolist(), (here / 3).tolist(), torch.exp(torch.tensor([-90.0, -103.0], device=place)).tolist(), here.sum().item())
