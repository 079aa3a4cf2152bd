import os

import torch

x = torch.tensor(list(os.urandom(16)), dtype=torch.float32)
print(x.mean().item())
