import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
one, other = torch.rand(8, 16384).half().to(device), torch.rand(16384, 8).half().to(device)
print((one @ other)[0, :4])
print((one.double() @ other.double())[0, :4])
print((one.bfloat16() @ other.bfloat16())[0, :4])
