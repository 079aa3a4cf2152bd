import torch

x = torch.linspace(-6, -3, 13)
print(torch.nn.functional.gelu(x))
print(0.5 * x * (1 + torch.erf(x / 2**0.5)))
