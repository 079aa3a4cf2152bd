import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
rows = torch.randn(6, 40)
weights = torch.randn(40, 500)
scores = [(rows.half().to(place) @ weights.half().to(place)).float().cpu() for place in ("cpu", device)]
print(scores[0].argmax(1).tolist())
print(scores[1].argmax(1).tolist())
print(scores[1].topk(3, 1)[0][0])
