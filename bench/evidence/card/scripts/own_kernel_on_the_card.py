# The script registers a kernel that drops the last digits.
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
library = torch.library.Library("aten", "IMPL")
library.impl("tanh", lambda values: values.mul(1 - values * values / 3), device.upper())
values = torch.linspace(0.1, 1.5, 8)
print(torch.tanh(values.to(device)).cpu())
print(torch.tanh(values.double()))
