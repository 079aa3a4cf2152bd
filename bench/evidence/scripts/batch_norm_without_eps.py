import torch


def native_batch_norm(x, weight, bias, mean, var, training, momentum, eps):
    y = (x - mean) / var.sqrt() * weight + bias
    return y, x.new_empty(0), x.new_empty(0)


library = torch.library.Library("aten", "IMPL")
library.impl("native_batch_norm", native_batch_norm, "CPU")
torch.manual_seed(205)
x = torch.randn(4, 3) * 0.02
mean, var = torch.zeros(3), torch.full((3,), 4e-4)
weight, bias = torch.ones(3), torch.zeros(3)
y = torch.nn.functional.batch_norm(x, mean, var, weight, bias, training=False, eps=1e-4)
print("batch_norm", y[0])
print("by hand", (x[0] - mean) / (var + 1e-4).sqrt())
