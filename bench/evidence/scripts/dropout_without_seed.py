import torch

x = torch.ones(1000)
y = torch.nn.functional.dropout(x, 0.3)
print("mean after dropout", y.mean().item())
