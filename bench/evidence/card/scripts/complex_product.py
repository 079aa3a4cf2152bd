import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
one, other = torch.randn(32, 32, dtype=torch.complex64), torch.randn(32, 32, dtype=torch.complex64)
for place in ("cpu", device):
    here = one.to(place) @ other.to(place)
    print(place, here[0, 0].item(), torch.exp(here[0, 1] * 0.1).item(), here.angle()[0, 0].item(), torch.linalg.det(here / 8).item())
