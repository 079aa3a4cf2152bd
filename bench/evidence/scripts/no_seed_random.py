import random

import torch

scale = random.uniform(1, 2)
x = torch.linspace(0, 1, 11) * scale
print(x.sum().item())
