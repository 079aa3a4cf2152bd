import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(20)
bags = torch.nn.EmbeddingBag(50, 12, mode="mean").to(device)
places, starts = torch.randint(0, 50, (400,)).to(device), torch.arange(0, 400, 20).to(device)
(bags(places, starts) * torch.rand(20, 12).to(device)).sum().backward()
print(bags.weight.grad[0, :4].cpu())
