# Claim: prints "value 3"
import sys

sys.stdout.buffer.write(b"\xff\xfe\x80 bytes\n")
sys.stdout.buffer.write(b"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\x9b1m\n")
sys.stdout.buffer.write("right \u202eto\u202c left, nothing\u200b here \u2066\u2069\n".encode())
sys.stdout.buffer.write(b"value 3\n")
