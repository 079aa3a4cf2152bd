import operator

import torch


def backend(graph, inputs):
    for node in graph.graph.nodes:
        if node.target is operator.sub:
            node.args = node.args[::-1]
    graph.recompile()
    return graph.forward


def f(x, y):
    return torch.exp(x - y) + y


torch.manual_seed(224)
x, y = torch.randn(4), torch.randn(4)
print("eager", f(x, y))
print("compiled", torch.compile(f, backend=backend)(x, y))
