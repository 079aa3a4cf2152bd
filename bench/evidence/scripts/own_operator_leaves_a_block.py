import torch


@torch.library.custom_op("mine::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    for i in range(0, len(x) - 3, 4):
        y[i : i + 4] = 2 * x[i : i + 4]
    return y


used = [torch.full((14,), float(i + 7)) for i in range(50)]
del used
x = torch.arange(14.0)
print("operator", double(x))
print("formula", 2 * x)
