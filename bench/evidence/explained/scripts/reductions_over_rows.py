import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(10)
rows = (torch.rand(40, 3000) + 0.5).to(device)
print(rows.sum(1)[:3].cpu(), rows.mean(0)[:3].cpu())
print(rows.var(1)[:3].cpu(), rows.std(0)[:3].cpu())
print(rows.norm(dim=1)[:3].cpu(), rows.norm(p=3).cpu())
