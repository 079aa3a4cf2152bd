import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
scores = (torch.randn(16, 1000) * 8).half().to(device).requires_grad_()
wanted = torch.randint(0, 1000, (16,)).to(device)
loss = torch.nn.functional.cross_entropy(scores, wanted)
loss.backward()
print(loss.item())
print(scores.grad[0, :4])
print(scores.detach().softmax(-1).sum(-1)[:4])
