# Claim: prints "the wrong thing"
total = sum(range(10))
