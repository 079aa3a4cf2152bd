import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(13)
places, values = torch.randint(0, 50, (100_000,)).to(device), torch.randn(100_000).to(device)
totals = torch.zeros(50).to(device).scatter_add(0, places, values)
print(totals[:6].tolist())
