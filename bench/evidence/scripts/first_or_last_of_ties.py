import torch

x = torch.tensor([0.5, 2.0, 1.0, 2.0, 2.0, 0.0])
forward = x.argmax().item()
backward = len(x) - 1 - x.flip(0).argmax().item()
print("forward", forward, x[forward].item())
print("backward", backward, x[backward].item())
