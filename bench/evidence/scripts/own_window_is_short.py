import numpy as np
import torch


@torch.library.custom_op("mine::window_mean", mutates_args=())
def window_mean(x: torch.Tensor, size: int) -> torch.Tensor:
    a = x.numpy()
    y = np.array([a[i : i + size - 1].sum() / size for i in range(len(a) - size + 1)])
    return torch.from_numpy(y.astype(np.float32))


torch.manual_seed(220)
x = torch.rand(12)
print("operator", window_mean(x, 5)[:4])
print("avg_pool1d", torch.nn.functional.avg_pool1d(x[None], 5, 1)[0, :4])
