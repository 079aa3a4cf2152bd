import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(6)
query, key, value = (torch.randn(2, 4, 48, 32).to(device, torch.float16).requires_grad_() for _ in range(3))
attended = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
attended.float().square().mean().backward()
print(attended[0, 0, -1, :4].detach().cpu())
print(value.grad[0, 0, 0, :4].cpu())
