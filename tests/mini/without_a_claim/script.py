print("hello", 1 / 3)
