import torch


def train(fused):
    torch.manual_seed(144)
    net = torch.nn.Sequential(torch.nn.Linear(10, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    x, y = torch.randn(32, 10), torch.randn(32, 1)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-2, fused=fused)
    for _ in range(15):
        optimiser.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimiser.step()
    return loss.item()


print("plain", train(False))
print("fused", train(True))
