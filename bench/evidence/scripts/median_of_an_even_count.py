import numpy as np
import torch

x = torch.tensor([4.0, 1.0, 7.5, 2.0])
print("torch", torch.median(x).item())
print("numpy", np.median(x.numpy()))
