import torch

torch.manual_seed(8)
layer = torch.nn.Linear(20, 3)
x, y = torch.randn(32, 20), torch.randn(32, 3)
torch.nn.functional.mse_loss(layer(x), y).backward()
batch = layer.weight.grad.clone()
layer.zero_grad()
for one, target in zip(x, y):
    (torch.nn.functional.mse_loss(layer(one), target) / 32).backward()
print((batch - layer.weight.grad).abs().max().item(), torch.allclose(batch, layer.weight.grad, rtol=0, atol=1e-9))
