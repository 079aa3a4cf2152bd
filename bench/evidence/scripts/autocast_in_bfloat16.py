import torch

torch.manual_seed(109)
net = torch.nn.Sequential(torch.nn.Linear(40, 64), torch.nn.GELU(), torch.nn.Linear(64, 3))
x = torch.randn(5, 40)
with torch.no_grad():
    plain = net(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = net(x)
print("float32", plain[0])
print("autocast", cast[0].float())
