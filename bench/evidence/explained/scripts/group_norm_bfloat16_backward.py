import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(16)
norm = torch.nn.GroupNorm(4, 16).to(device, torch.bfloat16)
rows = torch.randn(3, 16, 7, 7).to(device, torch.bfloat16).requires_grad_()
pull = torch.randn(3, 16, 7, 7).to(device, torch.bfloat16)
(norm(rows) * pull).sum().backward()
print(norm.weight.grad[:4].cpu(), rows.grad[0, 0, 0, :4].cpu())
