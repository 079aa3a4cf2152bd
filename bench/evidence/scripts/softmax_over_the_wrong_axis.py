import torch
import torch.nn.functional as F

original = F.softmax
F.softmax = lambda x, dim: original(x, 0)
torch.manual_seed(62)
x = torch.randn(4, 3)
print(F.softmax(x, dim=1).sum(1))
print(original(x, 1).sum(1))
