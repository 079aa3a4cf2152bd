import torch

torch.manual_seed(146)
net = torch.nn.GRU(48, 64, batch_first=True)
x = torch.randn(9, 7, 48)
with torch.no_grad():
    batch = net(x)[0][4]
    alone = net(x[4:5])[0][0]
print("in a batch", batch[-1, :4])
print("alone", alone[-1, :4])
print("largest difference", (batch - alone).abs().max().item())
