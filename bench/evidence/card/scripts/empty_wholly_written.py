import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
pages = torch.empty(8, 512, device=device)
for row in range(8):
    pages[row, :256] = torch.randn(256).to(device)
    pages[row, 256:].fill_(0.25)
moved = torch.empty_strided((512, 8), (1, 512), device=device)
moved.copy_(pages.T)
print(moved.sum(0))
