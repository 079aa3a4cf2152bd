import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))
rows, wanted = torch.randn(64, 16), torch.randn(64, 4)
model, rows, wanted = model.to(device), rows.to(device), wanted.to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(30):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(rows), wanted)
    loss.backward()
    optimizer.step()
print(loss.item())
print(model[0].weight.detach()[0, :4].cpu())
