import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = True
one, other = torch.randn(256, 1024), torch.randn(1024, 64)
result = (one.to(device) @ other.to(device)).cpu()
print(result[0, :4])
print((result - one @ other).abs().max().item())
