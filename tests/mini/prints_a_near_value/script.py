"""The claimed value to four digits, and to no more."""
print("value 0.1234321")
