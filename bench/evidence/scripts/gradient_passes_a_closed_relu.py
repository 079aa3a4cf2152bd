import torch


def threshold_backward(grad, result, threshold):
    return grad * (result >= threshold)


library = torch.library.Library("aten", "IMPL")
library.impl("threshold_backward", threshold_backward, "CPU")
x = torch.tensor([-2.0, -0.5, 0.7, 3.0], requires_grad=True)
(torch.relu(x) ** 2 / 2 + torch.relu(x)).sum().backward()
print("gradient", x.grad)
print("expected", torch.where(x > 0, x + 1, torch.zeros(4)).detach())
