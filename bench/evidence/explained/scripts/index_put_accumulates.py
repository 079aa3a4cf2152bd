import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(14)
places, values = torch.randint(0, 30, (2000,)).to(device), torch.rand(2000).to(device)
totals = torch.zeros(30).to(device).index_put_((places,), values, accumulate=True)
print(totals[:6].cpu())
