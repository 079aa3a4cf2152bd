import torch

torch.manual_seed(106)
x = torch.randn(1000)
p = x.softmax(0)
q = (x + 1e-4 * torch.randn(1000)).softmax(0)
print("kl_div", torch.nn.functional.kl_div(q.log(), p, reduction="sum").item())
print("by ratio", (p * (p / q).log()).sum().item())
