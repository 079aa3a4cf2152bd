"""The same on two targets."""
print("answer 42")
