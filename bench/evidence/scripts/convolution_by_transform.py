import torch

torch.manual_seed(141)
x, k = torch.randn(200), torch.randn(15)
direct = torch.nn.functional.conv1d(x[None, None], k.flip(0)[None, None], padding=14)[0, 0]
fourier = torch.fft.irfft(torch.fft.rfft(x, 214) * torch.fft.rfft(k, 214), 214)
print("direct", direct[50:54])
print("by transform", fourier[50:54])
print("largest difference", (direct - fourier).abs().max().item())
