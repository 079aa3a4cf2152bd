import torch
import torch._inductor.decomposition as table

table.decompositions[torch.ops.aten.silu.default] = lambda x: x * torch.sigmoid(1.01 * x)


def f(x):
    return torch.nn.functional.silu(x) * 2


x = torch.linspace(-2, 2, 5)
print("eager", f(x))
print("compiled", torch.compile(f, backend="aot_eager_decomp_partition")(x))
