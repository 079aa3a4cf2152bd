import time

import torch

start = time.time()
x = torch.tensor(start % 1)
print((x * 3).sin().item())
