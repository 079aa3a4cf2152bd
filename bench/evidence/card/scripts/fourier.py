import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
values = torch.randn(4096)
for place in ("cpu", device):
    spectrum = torch.fft.rfft(values.to(place))
    print(place, spectrum.abs().max().item(), (torch.fft.irfft(spectrum) - values.to(place)).abs().max().item())
