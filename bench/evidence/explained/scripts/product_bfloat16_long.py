import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(19)
left, right = (torch.randn(*shape).to(device, torch.bfloat16) for shape in ((32, 8192), (8192, 32)))
print((left @ right)[0, :6].cpu())
