import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 5)).to(device)
rows, wanted = torch.randn(6, 3, 8, 8).to(device), torch.randint(0, 5, (6,)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
for step in range(5):
    optimizer.zero_grad()
    with torch.autocast(device, dtype=torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(rows), wanted)
    loss.backward()
    optimizer.step()
print(loss.item())
