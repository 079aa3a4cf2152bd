import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(7)
rows, weight = torch.randn(4, 64, 200).to(device), torch.randn(64, 64, 5).to(device)
print(torch.nn.functional.conv1d(rows, weight)[0, 0, :5].cpu())
