import torch

library = torch.library.Library("aten", "IMPL")
library.impl("log1p", lambda x: torch.log(1 + x), "CPU")
print(torch.log1p(torch.tensor([1e-6, 3e-6, 7e-7])))
