"""Asks for input."""
name = input("name? ")
print("hello", name)
