"""Sessions that people paste: of Python, of IPython, and of a shell."""
