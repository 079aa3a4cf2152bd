"""Writes until its scratch space is full."""
with open("big", "wb") as file:
    for _ in range(4096):
        file.write(b"x" * 2**20)
print("answer 42")
