import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
layer = torch.nn.LSTM(12, 20, num_layers=2)
rows = torch.randn(15, 3, 12)
results = [layer.to(place)(rows.to(place))[0].cpu() for place in ("cpu", device)]
print((results[0] - results[1]).abs().max().item())
print(results[1][-1, 0, :4])
