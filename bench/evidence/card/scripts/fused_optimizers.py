import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
start = torch.randn(100)
for options in ({"fused": True}, {"foreach": True}, {"foreach": False}):
    weight = start.clone().to(device).requires_grad_()
    optimizer = torch.optim.Adam([weight], lr=0.1, weight_decay=0.01, **options)
    for _ in range(5):
        optimizer.zero_grad()
        (weight.sin() * weight).sum().backward()
        optimizer.step()
    print(options, weight.detach()[:3].tolist())
