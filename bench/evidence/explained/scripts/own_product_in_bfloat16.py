import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
library = torch.library.Library("aten", "IMPL")
whole = torch.bmm
library.impl(
    "mm",
    lambda left, right: whole(left.bfloat16().float()[None], right.bfloat16().float()[None])[0],
    device.upper(),
)
torch.manual_seed(26)
left, right = torch.randn(40, 60).to(device), torch.randn(60, 40).to(device)
print((left @ right)[0, :4].cpu())
