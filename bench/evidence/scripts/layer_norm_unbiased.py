import torch


def layer_norm(x, shape, weight, bias, eps):
    mean = x.mean(-1, keepdim=True)
    rstd = (x.var(-1, keepdim=True, correction=1) + eps).rsqrt()
    return (x - mean) * rstd, mean, rstd


library = torch.library.Library("aten", "IMPL")
library.impl("native_layer_norm", layer_norm, "CPU")
torch.manual_seed(44)
x = torch.randn(4, 12)
print(torch.nn.functional.layer_norm(x, (12,))[0, :4])
