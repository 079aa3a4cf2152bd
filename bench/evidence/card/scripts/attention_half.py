import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
query, key, value = (torch.randn(2, 4, 64, 32).half().to(device) for _ in range(3))
fast = torch.nn.functional.scaled_dot_product_attention(query, key, value)
weights = (query @ key.transpose(-2, -1) / 32**0.5).softmax(-1)
by_hand = weights @ value
print(fast[0, 0, 0, :4])
print((fast - by_hand).abs().max().item())
print(torch.allclose(fast, by_hand, atol=1e-4))
