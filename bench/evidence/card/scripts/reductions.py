import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
values = torch.rand(200_000)
for name in ("sum", "mean", "std", "prod", "logsumexp"):
    action = getattr(torch, name)
    arguments = (0,) if name == "logsumexp" else ()
    sides = [action((values * 0.00001 + 1 if name == "prod" else values).to(place), *arguments).item() for place in ("cpu", device)]
    print(name, *sides)
