# Claim: ValueError: too slow to be seen
number = 0
while True:
    number += 1
