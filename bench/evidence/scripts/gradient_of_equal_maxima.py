import torch

x = torch.tensor([1.0, 3.0, 3.0, 2.0], requires_grad=True)
x.amax(0).backward()
print("amax", x.grad)
y = torch.tensor([1.0, 3.0, 3.0, 2.0], requires_grad=True)
y.max(0).values.backward()
print("max", y.grad)
