import torch

third = torch.tensor(0.3333333432674408)
scores = torch.stack([torch.tensor(1.0), third * 3])
best = scores.argmax()
print("best", best.item(), "value", torch.tensor([5.0, 9.0])[best].item())
