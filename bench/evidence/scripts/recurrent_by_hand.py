import torch

torch.manual_seed(34)
cell = torch.nn.LSTM(6, 5)
x = torch.randn(7, 3, 6)
out, _ = cell(x)
h, c = torch.zeros(3, 5), torch.zeros(3, 5)
w, u = cell.weight_ih_l0, cell.weight_hh_l0
for step in x:
    i, f, g, o = (step @ w.T + cell.bias_ih_l0 + h @ u.T + cell.bias_hh_l0).chunk(4, 1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
print((out[-1] - h).abs().max().item())
