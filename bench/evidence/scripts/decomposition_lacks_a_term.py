import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd


def mish(x):
    return x * torch.tanh(torch.log(torch.exp(x)))


def compiler(graph, inputs):
    return make_boxed_func(graph.forward)


backend = aot_autograd(fw_compiler=compiler, decompositions={torch.ops.aten.mish.default: mish})


def f(x):
    return torch.nn.functional.mish(x) * 2


x = torch.linspace(-2, 2, 5)
print("eager", f(x))
print("compiled", torch.compile(f, backend=backend)(x))
