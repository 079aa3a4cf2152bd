# Claim: another result every time
import random

print(random.random())
