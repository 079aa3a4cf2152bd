import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
shares = torch.full((10,), 0.1).to(device)
edges = torch.tensor([0.3]).to(device)
totals = shares.cumsum(0)
print(torch.bucketize(edges, totals).item(), (totals >= edges).sum().item())
