"""The value that is claimed to be wrong is right."""
print("equal True")
