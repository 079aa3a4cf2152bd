import torch


def gelu(x, *, approximate="none"):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


library = torch.library.Library("aten", "IMPL")
library.impl("gelu", gelu, "CPU")
x = torch.linspace(-3, 3, 13)
print(torch.nn.functional.gelu(x))
