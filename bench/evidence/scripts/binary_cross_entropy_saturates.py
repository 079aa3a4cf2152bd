import torch
import torch.nn.functional as F

x = torch.tensor([5.0, 12.0, 15.0, 20.0, 30.0])
y = torch.zeros(5)
print("from probabilities", F.binary_cross_entropy(torch.sigmoid(x), y, reduction="none"))
print("from logits", F.binary_cross_entropy_with_logits(x, y, reduction="none"))
