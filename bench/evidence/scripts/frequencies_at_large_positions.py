import torch


def rotary(kind):
    position = torch.arange(131001, 131004, dtype=kind)
    inverse = 10000.0 ** (-torch.arange(0, 16, 2, dtype=kind) / 16)
    return (position[:, None] * inverse).cos()


print("float32", rotary(torch.float32)[:, 1])
print("float64", rotary(torch.float64)[:, 1])
