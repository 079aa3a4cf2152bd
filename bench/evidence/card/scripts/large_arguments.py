import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
values = torch.tensor([1e4, 123456.7, 1e8, 3e15])
for place in ("cpu", device):
    here = values.to(place)
    print(place, here.sin().tolist(), here.cos().tolist(), torch.special.digamma(here / 1e4).tolist(), torch.lgamma(here).tolist(), torch.special.erfinv(torch.tensor([0.9999999], device=place)).item())
