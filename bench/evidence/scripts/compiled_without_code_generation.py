import torch

torch.manual_seed(27)
layer = torch.nn.Sequential(torch.nn.Linear(12, 12), torch.nn.GELU(), torch.nn.Linear(12, 2))
x = torch.randn(9, 12)
plain = layer(x)
compiled = torch.compile(layer, backend="aot_eager")(x)
print((plain - compiled).abs().max().item())
print(plain.sum().item(), compiled.sum().item())
