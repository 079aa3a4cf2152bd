"""The failure that is claimed is gone."""
print("fine")
