import torch
import torch.nn.functional as F

torch.manual_seed(108)
x = torch.randn(500) * 2
y = torch.randint(2, (500,)).float()
print("from probabilities", F.binary_cross_entropy(torch.sigmoid(x), y).item())
print("from logits", F.binary_cross_entropy_with_logits(x, y).item())
