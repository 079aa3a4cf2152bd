import math

import torch

for kind in (torch.complex64, torch.complex128):
    z = torch.exp(torch.tensor(1j * math.pi, dtype=kind))
    print(kind, "imaginary part", z.imag.item(), "angle", z.angle().item())
