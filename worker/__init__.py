"""The node of samehere: it runs attempts in sandboxes.

It never imports `app`. It needs neither a web framework nor a database driver.
"""
