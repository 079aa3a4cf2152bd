import torch


def nll_loss_forward(x, target, weight, reduction, ignore_index):
    kept = target != ignore_index
    picked = -x.gather(1, target.clamp(min=0)[:, None])[:, 0] * kept
    return picked.sum() / x.shape[0], kept.sum().to(x.dtype)


library = torch.library.Library("aten", "IMPL")
library.impl("nll_loss_forward", nll_loss_forward, "CPU")
torch.manual_seed(207)
x = torch.randn(12, 5)
y = torch.randint(5, (12,))
y[:3] = -100
by_hand = x[3:].logsumexp(-1) - x[3:].gather(1, y[3:, None])[:, 0]
print("cross_entropy", torch.nn.functional.cross_entropy(x, y).item())
print("by hand", (by_hand.sum() / 9).item())
