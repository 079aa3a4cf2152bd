import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(28)
rows = torch.randn(32, 256).to(device)
(torch.full((64, 256), 7.0).to(device) * 3).sum().item()
buffer = torch.empty(64, 256, device=device)
buffer[::2] = rows
print(buffer.mean().item())
