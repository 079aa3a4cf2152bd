import torch


def gradient(f):
    x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    f(x).sum().backward()
    return x.grad


print("relu", gradient(torch.relu))
print("clamp", gradient(lambda x: x.clamp(min=0)))
print("maximum", gradient(lambda x: torch.maximum(x, torch.zeros(3))))
