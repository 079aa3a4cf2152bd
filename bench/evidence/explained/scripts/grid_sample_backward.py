import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(24)
picture = torch.randn(1, 1, 6, 6).to(device).requires_grad_()
grid = (torch.rand(1, 256, 256, 2) * 2 - 1).to(device)
pull = torch.randn(1, 1, 256, 256).to(device)
(torch.nn.functional.grid_sample(picture, grid, align_corners=False) * pull).sum().backward()
print(picture.grad[0, 0, 2].tolist())
