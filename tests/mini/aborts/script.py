# Claim: Aborted (core dumped)
import os

print("before", flush=True)
os.abort()
