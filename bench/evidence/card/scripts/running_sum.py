import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
values = torch.rand(100_000) - 0.5
both = [values.to(place).cumsum(0).cpu() for place in ("cpu", device)]
print((both[0] - both[1]).abs().max().item())
print(both[1][-1].item(), values.double().sum().item())
