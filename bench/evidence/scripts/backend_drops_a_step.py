import torch


def backend(graph, inputs):
    for node in list(graph.graph.nodes):
        if node.target is torch.relu:
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)
    graph.recompile()
    return graph.forward


def f(x):
    return torch.relu(x) + 1


x = torch.linspace(-2, 2, 5)
print("eager", f(x))
print("compiled", torch.compile(f, backend=backend)(x))
