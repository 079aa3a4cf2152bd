import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(18)
values = (torch.rand(8, 300) + 0.5).to(device)
print(values.cumsum(1)[0, -3:].cpu(), (values * 0.01 + 1).cumprod(1)[0, -3:].cpu())
print(values.logcumsumexp(1)[0, -3:].cpu())
