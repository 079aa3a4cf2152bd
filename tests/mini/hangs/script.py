# Claim: hangs forever
import threading

print("waiting", flush=True)
lock = threading.Lock()
lock.acquire()
lock.acquire()
