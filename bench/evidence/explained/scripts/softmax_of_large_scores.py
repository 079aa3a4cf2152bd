import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(21)
scores = (torch.randn(6, 500) * 60).to(device)
print(torch.logsumexp(scores, 1)[:4].cpu())
print(torch.softmax(scores, 1).max(1).values[:4].cpu(), torch.log_softmax(scores, 1)[0, :4].cpu())
