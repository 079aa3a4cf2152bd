import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
rows = torch.randn(32, 256) * 3 + 100
outputs = []
for place in ("cpu", device):
    layer = torch.nn.LayerNorm(256).to(place)
    given = rows.to(place).requires_grad_()
    layer(given).pow(3).sum().backward()
    outputs += [given.grad.cpu(), layer.weight.grad.cpu()]
print((outputs[0] - outputs[2]).abs().max().item(), (outputs[1] - outputs[3]).abs().max().item())
print(outputs[2][0, :4])
