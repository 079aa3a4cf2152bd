import torch

data = torch.utils.data.TensorDataset(torch.arange(20.0)[:, None])
w = torch.zeros(1)
for (x,) in torch.utils.data.DataLoader(data, batch_size=4, shuffle=True):
    w = 0.5 * w + 0.1 * x.mean(0)
print("weight after one epoch", w.item())
