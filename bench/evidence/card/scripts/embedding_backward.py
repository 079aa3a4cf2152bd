import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
table = torch.nn.Embedding(20, 16).to(device)
places = torch.randint(0, 20, (4000,)).to(device)
(table(places) ** 2 * torch.rand(4000, 1).to(device)).sum().backward()
print(table.weight.grad[0, :4])
sampled = torch.randn(2, 3, 16, 16).to(device).requires_grad_()
torch.nn.functional.interpolate(sampled, size=(37, 29), mode="bilinear").pow(2).sum().backward()
print(sampled.grad[0, 0, 0, :4])
