import torch


def sigmoid(x):
    return 1 / (1 + torch.exp(-x.clamp(-8, 8)))


library = torch.library.Library("aten", "IMPL")
library.impl("sigmoid", sigmoid, "CPU")
x = torch.tensor([-14.0, -10.0, -2.0, 0.5, 3.0])
print("sigmoid", torch.sigmoid(x))
print("by exp", x.exp() / (1 + x.exp()))
