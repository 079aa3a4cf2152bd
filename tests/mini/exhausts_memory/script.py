# Claim: ValueError: never gets here
kept = []
while True:
    kept.append(bytearray(16 * 1024 * 1024))
