# Claim: exit code 3
import sys

print("leaving")
sys.exit(3)
