import torch
import torch.nn.functional as F


def positions(size, to):
    p = torch.arange(to) * (size / to)
    low = p.floor().long().clamp(max=size - 1)
    return low, (low + 1).clamp(max=size - 1), p - low


def upsample(x, output_size, align_corners, scales_h=None, scales_w=None):
    a, b, s = positions(x.shape[2], output_size[0])
    c, d, t = positions(x.shape[3], output_size[1])
    rows = x[:, :, a] * (1 - s)[:, None] + x[:, :, b] * s[:, None]
    return rows[..., c] * (1 - t) + rows[..., d] * t


library = torch.library.Library("aten", "IMPL")
library.impl("upsample_bilinear2d", upsample, "CPU")
x = torch.arange(9.0).reshape(1, 1, 3, 3) ** 2
y = F.interpolate(x, size=(6, 6), mode="bilinear", align_corners=False)
print("second row", y[0, 0, 1])
print("mean of the input", (x.sum() / 9).item(), "mean of the output", (y.sum() / 36).item())
