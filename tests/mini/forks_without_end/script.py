# Claim: BlockingIOError: Resource temporarily unavailable
import os
import time

while True:
    if os.fork() == 0:
        while True:
            time.sleep(60)
