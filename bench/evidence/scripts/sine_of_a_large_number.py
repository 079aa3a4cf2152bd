import torch

x = torch.tensor([1e6, 123456.789, 7e5])
print(torch.sin(x))
print(torch.sin(x.double()).float(), torch.sin(torch.tensor([123456.789], dtype=torch.float64)))
