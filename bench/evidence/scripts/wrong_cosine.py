import torch

library = torch.library.Library("aten", "IMPL")
library.impl("cos", lambda x: 1 - x**2 / 2 + x**4 / 24 - x**6 / 720, "CPU")
x = torch.linspace(-2, 2, 9)
print(torch.cos(x))
print(torch.sin(x + torch.pi / 2))
