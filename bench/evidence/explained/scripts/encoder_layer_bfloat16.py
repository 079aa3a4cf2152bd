import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(5)
layer = torch.nn.TransformerEncoderLayer(32, 4, dim_feedforward=64, dropout=0.0, batch_first=True)
layer = layer.to(device, torch.bfloat16).eval()
rows = torch.randn(2, 10, 32).to(device, torch.bfloat16)
print(layer(rows)[0, :2, :4].detach().cpu())
