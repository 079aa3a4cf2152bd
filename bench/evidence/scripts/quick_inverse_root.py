import torch


def inverse_root(x):
    estimate = (0x5F3759DF - (x.view(torch.int32) >> 1)).view(torch.float32)
    return estimate * (1.5 - 0.5 * x * estimate * estimate)


library = torch.library.Library("aten", "IMPL")
library.impl("rsqrt", inverse_root, "CPU")
x = torch.linspace(0.1, 9, 7)
print(torch.rsqrt(x))
