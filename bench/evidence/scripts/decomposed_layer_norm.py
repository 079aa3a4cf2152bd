import torch


def f(x):
    return torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (96,)))


torch.manual_seed(140)
x = torch.randn(8, 96)
eager = f(x)
compiled = torch.compile(f, backend="aot_eager_decomp_partition")(x)
print("eager", eager.sum().item())
print("compiled", compiled.sum().item())
print("largest difference", (eager - compiled).abs().max().item())
