import torch

torch.manual_seed(143)
start, x, t = torch.randn(6), torch.randn(30, 6), torch.randn(30)
a = start.clone().requires_grad_()
optimiser = torch.optim.SGD([a], lr=0.05, weight_decay=0.01)
b = start.clone()
for _ in range(20):
    optimiser.zero_grad()
    ((x @ a - t) ** 2).mean().backward()
    optimiser.step()
    gradient = 2 * (x.T @ (x @ b - t)) / 30
    b = b * (1 - 0.05 * 0.01) - 0.05 * gradient
torch.set_printoptions(precision=9)
print("optimiser", a.detach())
print("by hand", b)
