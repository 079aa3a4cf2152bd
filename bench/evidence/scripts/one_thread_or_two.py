import torch

torch.manual_seed(153)
x = 3 + 0.1 * torch.rand(1_000_001)
torch.set_num_threads(1)
one = x.sum().item()
torch.set_num_threads(2)
two = x.sum().item()
print("one thread", one)
print("two threads", two)
