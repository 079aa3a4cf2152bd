import torch

torch.manual_seed(115)
x = 3000 + torch.randn(2000)
y = 3000 + 0.5 * (x - 3000) + torch.randn(2000)
n = x.numel()
short = ((x * y).mean() - x.mean() * y.mean()) * n / (n - 1)
print("by products", short.item())
print("torch.cov", torch.cov(torch.stack([x, y]))[0, 1].item())
