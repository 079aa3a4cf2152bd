import torch
import torch.nn.functional as F


def avg_pool2d(x, size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor=None):
    stride = stride or size
    windows = F.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    windows = windows.unfold(2, size[0], stride[0]).unfold(3, size[1], stride[1])
    return windows.sum((-1, -2)) / (size[0] * size[1])


library = torch.library.Library("aten", "IMPL")
library.impl("avg_pool2d", avg_pool2d, "CPU")
torch.manual_seed(203)
x = torch.rand(1, 1, 6, 6)
y = F.avg_pool2d(x, (3, 3), (1, 1), (1, 1), count_include_pad=False)
print("corner", y[0, 0, 0, 0].item(), "mean by hand", (x[0, 0, :2, :2].sum() / 4).item())
print("inside", y[0, 0, 2, 2].item(), "mean by hand", (x[0, 0, 1:4, 1:4].sum() / 9).item())
