import torch

x = torch.tensor([-1.0, 300.0, -200.5, 17.9])
print("converted", x.to(torch.uint8).tolist())
print("clamped first", x.clamp(0, 255).to(torch.uint8).tolist())
