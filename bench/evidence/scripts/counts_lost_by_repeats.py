import torch

index = torch.tensor([0, 2, 2, 1, 2, 0])
count = torch.zeros(3)
count[index] += 1
print("by index", count)
print("bincount", torch.bincount(index, minlength=3))
print("equal", torch.equal(count.long(), torch.bincount(index, minlength=3)))
