"""Has no network, and says so by an exception."""
import socket

socket.create_connection(("192.0.2.1", 80), timeout=5)
