import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.SiLU(), torch.nn.Linear(64, 8)).to(device)
rows, wanted = torch.randn(48, 32).to(device), torch.randn(48, 8).to(device)


@torch.compile
def loss_of(rows, wanted):
    return torch.nn.functional.mse_loss(model(rows).softmax(1), wanted)


optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    loss = loss_of(rows, wanted)
    loss.backward()
    optimizer.step()
print(loss.item())
print(model[0].weight.detach()[0, :4])
