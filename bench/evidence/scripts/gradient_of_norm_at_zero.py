import torch

x = torch.zeros(3, requires_grad=True)
x.norm().backward()
print("norm", x.grad)
y = torch.zeros(3, requires_grad=True)
(y * y).sum().sqrt().backward()
print("root of the sum of squares", y.grad)
