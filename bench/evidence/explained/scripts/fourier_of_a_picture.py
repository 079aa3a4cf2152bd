import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(22)
picture = torch.randn(45, 50).to(device)
there = torch.fft.rfft2(picture)
print(there.abs()[1, 1:4].cpu())
print(torch.fft.irfft2(there, s=(45, 50))[0, :4].cpu())
