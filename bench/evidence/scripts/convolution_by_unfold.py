import torch

torch.manual_seed(10)
x, w = torch.randn(2, 8, 15, 15), torch.randn(6, 8, 3, 3)
direct = torch.nn.functional.conv2d(x, w, padding=1)
columns = torch.nn.functional.unfold(x, 3, padding=1)
mine = (w.view(6, -1) @ columns).view(2, 6, 15, 15)
print((direct - mine).abs().max().item())
