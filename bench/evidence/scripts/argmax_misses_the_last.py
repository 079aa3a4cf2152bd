import torch


def argmax(x, dim=None, keepdim=False):
    if dim is None:
        return x.flatten()[:-1].max(0).indices
    return x.narrow(dim, 0, x.shape[dim] - 1).max(dim, keepdim).indices


library = torch.library.Library("aten", "IMPL")
library.impl("argmax", argmax, "CPU")
torch.manual_seed(212)
score = torch.rand(3, 6)
score[1, 5] = 2.0
print("argmax", score.argmax(1))
print("max", score.max(1).indices)
print("value found", score[1, score.argmax(1)[1]].item(), "largest", score[1].max().item())
