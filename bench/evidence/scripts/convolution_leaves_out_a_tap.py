import torch
import torch.nn.functional as F


def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    columns = F.unfold(x, weight.shape[2:], dilation, padding, stride)
    filters = weight.flatten(1).clone()
    filters[:, -1] = 0
    y = filters @ columns
    y = y.reshape(x.shape[0], weight.shape[0], x.shape[2], x.shape[3])
    return y if bias is None else y + bias[:, None, None]


library = torch.library.Library("aten", "IMPL")
library.impl("convolution", convolution, "CPU")
torch.manual_seed(204)
x, w = torch.randn(1, 2, 5, 5), torch.randn(3, 2, 3, 3)
with torch.no_grad():
    y = F.conv2d(x, w, padding=1)
print("convolution", y[0, :, 2, 2])
print("by hand", (x[0, :, 1:4, 1:4] * w).sum((1, 2, 3)))
