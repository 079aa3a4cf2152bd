import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(15)
norm = torch.nn.BatchNorm1d(6).to(device)
for batch in torch.randn(3, 50, 6) * 4 + 2:
    shown = norm(batch.to(device))
print(norm.running_mean.cpu(), norm.running_var.cpu())
print(shown[0].detach().cpu())
