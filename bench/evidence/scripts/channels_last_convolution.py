import torch

torch.manual_seed(108)
x = torch.randn(2, 48, 17, 17)
conv = torch.nn.Conv2d(48, 40, 3, padding=1)
with torch.no_grad():
    a = conv(x)
    conv = conv.to(memory_format=torch.channels_last)
    b = conv(x.to(memory_format=torch.channels_last))
print("contiguous", a.sum().item())
print("channels last", b.sum().item())
print("largest difference", (a - b).abs().max().item())
