import torch

torch.manual_seed(139)
a = torch.randn(9, 4)
x = torch.randn(4)
hessian = torch.autograd.functional.hessian(lambda t: (a @ t).logsumexp(0), x)
p = (a @ x).softmax(0)
closed = a.T @ (torch.diag(p) - p[:, None] * p) @ a
print("double backward", hessian[0].tolist())
print("closed formula", closed[0].tolist())
