"""What is claimed stands in the output before the limit ends it."""
import time

print("loss nan", flush=True)
time.sleep(100000)
