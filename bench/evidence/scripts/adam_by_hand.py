import torch

torch.manual_seed(25)
w = torch.randn(30, requires_grad=True)
v = w.detach().clone()
m, s = torch.zeros(30), torch.zeros(30)
optimizer = torch.optim.Adam([w], lr=0.01)
data = torch.randn(30)
for step in range(1, 16):
    optimizer.zero_grad()
    ((w - data) ** 2).sum().backward()
    optimizer.step()
    g = 2 * (v - data)
    m = 0.9 * m + 0.1 * g
    s = 0.999 * s + 0.001 * g * g
    v = v - 0.01 * (m / (1 - 0.9**step)) / ((s / (1 - 0.999**step)).sqrt() + 1e-8)
print((w.detach() - v).abs().max().item())
print(w.sum().item(), v.sum().item())
