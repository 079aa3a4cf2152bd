import torch
import torch.nn.functional as F

x = torch.arange(16.0).reshape(1, 1, 4, 4)
for corners in (False, True):
    y = F.interpolate(x, size=(7, 7), mode="bilinear", align_corners=corners)
    print("align_corners", corners, y[0, 0, 1])
