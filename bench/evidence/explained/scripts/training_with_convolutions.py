import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(3)
torch.backends.cudnn.allow_tf32 = False
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3, padding=1, bias=False), torch.nn.BatchNorm2d(8), torch.nn.Tanh(),
    torch.nn.AvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(32, 5),
)
pictures, wanted = torch.randn(12, 3, 8, 8), torch.randint(0, 5, (12,))
model, pictures, wanted = model.to(device), pictures.to(device), wanted.to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(8):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(pictures), wanted)
    loss.backward()
    optimizer.step()
print(loss.item())
print(model[0].weight.detach()[0, 0].cpu())
