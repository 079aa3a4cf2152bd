import torch

torch.manual_seed(107)
x = torch.randn(64, 1000)
layer = torch.nn.Linear(1000, 50)
with torch.no_grad():
    many = layer(x)[3]
    one = layer(x[3:4])[0]
print("in a batch", many[:4])
print("alone", one[:4])
print("largest difference", (many - one).abs().max().item())
