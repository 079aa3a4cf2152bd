import torch


def gradient(scale):
    x = torch.ones(4, dtype=torch.float16, requires_grad=True)
    loss = ((x * 1e-4) * 1e-4).float().sum() * scale
    loss.backward()
    return x.grad.float() / scale


print("plain", gradient(1.0))
print("scaled", gradient(1024.0))
