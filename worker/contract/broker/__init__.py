"""The broker of the service and its nodes: its address, and the transport that checks each message."""
