"""On a target that this machine may lack."""
print("answer 42")
