import torch

library = torch.library.Library("aten", "IMPL")
library.impl("tanh_backward", lambda grad, out: grad * (1 - out), "CPU")
x = torch.linspace(-1, 1, 5, requires_grad=True)
x.tanh().sum().backward()
print(x.grad)
