import torch

torch.manual_seed(142)
x = 100 + torch.randn(40, 8)
y = x + 1e-3 * torch.randn(40, 8)
direct = torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
product = torch.cdist(x, y, compute_mode="use_mm_for_euclid_dist")
print("direct", direct.diagonal()[:4])
print("by products", product.diagonal()[:4])
