"""Neither what is claimed nor what is expected."""
print("value 0.75")
