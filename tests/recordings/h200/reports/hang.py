# Claim: hangs
import threading
import torch
x = torch.ones(3, device="cuda")
print("before", flush=True)
lock = threading.Lock()
lock.acquire()
lock.acquire()
