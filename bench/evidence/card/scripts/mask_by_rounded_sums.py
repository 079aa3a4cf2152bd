import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
weights = torch.rand(200, 300).to(device)
shares = weights / weights.sum(1, keepdim=True)
whole = shares.sum(1)
print((whole == 1.0).sum().item(), (whole > 1.0).sum().item())
print(whole.mean().item())
