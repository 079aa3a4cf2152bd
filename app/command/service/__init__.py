"""The services that the command line talks to or starts, and how it ends."""
