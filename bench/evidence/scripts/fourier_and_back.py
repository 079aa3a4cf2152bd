import torch

torch.manual_seed(26)
x = torch.randn(500)
back = torch.fft.irfft(torch.fft.rfft(x), n=500)
print((x - back).abs().max().item(), torch.equal(x, back))
