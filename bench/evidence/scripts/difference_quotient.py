import torch

x = torch.tensor(1.3, requires_grad=True)
h = 1e-5
(x.sin() * x).backward()
with torch.no_grad():
    quotient = ((x + h).sin() * (x + h) - (x - h).sin() * (x - h)) / (2 * h)
print("autograd", x.grad.item())
print("quotient", quotient.item())
