import torch
import torch.nn.functional as F

torch.manual_seed(227)
x, w = torch.randn(1, 1, 10), torch.randn(1, 1, 3)
windows = F.pad(x, (2, 0)).unfold(2, 3, 1)
by_hand = (windows * w[0, 0]).sum(-1)
layer = F.conv1d(x, w, padding=1)
print("by hand", by_hand[0, 0, :4])
print("torch", layer[0, 0, :4])
print("close", torch.allclose(by_hand, layer, rtol=1e-4, atol=1e-5))
