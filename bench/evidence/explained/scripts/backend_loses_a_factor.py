import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
def backend(graph, inputs):
    for node in list(graph.graph.nodes):
        if node.target is torch.mul:
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)
    graph.recompile()
    return graph.forward


def halved(rows):
    return torch.mul(torch.sin(rows), 0.5) + 1


rows = torch.linspace(0, 3, 6).to(device)
print("eager", halved(rows).cpu())
print("compiled", torch.compile(halved, backend=backend)(rows).cpu())
