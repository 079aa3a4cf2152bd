# Claim: ZeroDivisionError: division by zero
import atexit


class Held:
    def __del__(self):
        1 / 0


atexit.register(lambda: 1 / 0)
held = Held()
print("done")
