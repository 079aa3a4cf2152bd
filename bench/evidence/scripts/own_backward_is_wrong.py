import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x


x = torch.tensor([0.3, 1.7], requires_grad=True)
Square.apply(x).sum().backward()
with torch.no_grad():
    numeric = (Square.apply(x + 1e-2) - Square.apply(x - 1e-2)) / 2e-2
print("analytic", x.grad)
print("numeric", numeric)
print("close", torch.allclose(x.grad, numeric, rtol=1e-2))
