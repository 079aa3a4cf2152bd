import torch

torch.manual_seed(154)
layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
x = torch.randn(3, 10, 32)
with torch.no_grad():
    slow = layer.train()(x)
    fast = layer.eval()(x)
print("training", slow[0, 0, :4])
print("evaluation", fast[0, 0, :4])
print("largest difference", (slow - fast).abs().max().item())
