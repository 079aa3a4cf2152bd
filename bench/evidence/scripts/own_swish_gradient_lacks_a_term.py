import torch


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.sigmoid(x)


x = torch.tensor([-1.5, 0.4, 2.0], requires_grad=True)
Swish.apply(x).sum().backward()
y = x.detach().clone().requires_grad_()
torch.nn.functional.silu(y).sum().backward()
print("own", x.grad)
print("torch", y.grad)
print("close", torch.allclose(x.grad, y.grad, rtol=1e-3))
