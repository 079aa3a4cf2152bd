import torch

torch.manual_seed(127)
x = torch.randn(4000, 3)
group = torch.randint(5, (4000,))
added = torch.zeros(5, 3).index_add_(0, group, x)
product = torch.nn.functional.one_hot(group, 5).float().T @ x
print("index_add", added[:, 0].tolist())
print("product", product[:, 0].tolist())
