import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
query, key, value = (torch.randn(2, 4, 96, 64).bfloat16().to(device).requires_grad_() for _ in range(3))
out = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
out.float().square().sum().backward()
print(out[1, 2, 90, :4])
print(query.grad[0, 1, 40, :4])
print(value.grad.float().abs().max().item())
