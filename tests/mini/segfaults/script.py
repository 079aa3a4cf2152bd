# Claim: Segmentation fault (core dumped)
import ctypes

print("before", flush=True)
ctypes.string_at(0)
