import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
values = torch.full((64,), 300.0, dtype=torch.half)
for place in ("cpu", device):
    here = values.to(place)
    print(place, (here * here).sum().item(), here.dot(here).item(), here.norm().item(), here.float().norm().item())
