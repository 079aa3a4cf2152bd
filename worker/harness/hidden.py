"""Keeps from the script what its interpreter imported beforehand, until the script imports it; loaded by the paused interpreter."""

import os
import sys


class Hidden:
    """Finder of the modules that the pause imported and the script has not: they come into sight as the script imports them."""

    def __init__(self, modules, roots, watched):
        self.modules = modules
        self.roots = roots
        self.watched = watched
        self.trip = None

    def find_spec(self, name, path=None, target=None):
        module = self.modules.get(name)
        if module is None:
            self.notice(name, path, target)
            return None
        if path is None and self.elsewhere(name, module):
            return None
        spec = module.__spec__
        if not isinstance(spec.loader, Restore):
            spec.loader = Restore(self, module, spec.loader)
        return spec

    def elsewhere(self, name, module):
        """Whether the script made the name lead to something else."""
        spec = self.found(name, None, None)
        if spec is not None and spec.origin != module.__spec__.origin:
            self.tell()
            return True
        return False

    def found(self, name, path, target):
        for finder in list(sys.meta_path):
            if getattr(finder, "__module__", "") != __name__ and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None

    def notice(self, name, path, target):
        """What else is loaded before torch changes the order in which libraries come."""
        # The start-up files of the toolchain come first, and again; the script's folder is on the path from the script on.
        started = sys.path[:1] == ["/home/u"]
        if started and path is None and self.watched in self.modules and self.trip is not None:
            spec = self.found(name, path, target)
            if spec is not None and str(spec.origin).startswith(self.roots):
                self.tell()

    def tell(self):
        if self.trip is not None:
            self.trip()

    def show(self, name):
        """The module and what came with it, in the order of a first import."""
        top = name.partition(".")[0]
        for other in list(self.modules):
            if top in (self.watched, other) or other.startswith(top + "."):
                module = self.modules.pop(other)
                if other != name:
                    sys.modules.setdefault(other, module)
        if not self.modules:
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]


class Restore:
    def __init__(self, hidden, module, loader):
        self.hidden = hidden
        self.module = module
        self.loader = loader

    def create_module(self, _spec):
        return self.module

    def exec_module(self, module):
        module.__spec__.loader = self.loader
        self.hidden.show(module.__name__)


def third_party(before):
    """What is new since then and does not belong to Python, by the folder of its top-level package."""
    roots = tuple(
        os.path.join(entry, "") for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))
    )
    new = {name: module for name, module in sys.modules.items() if name not in before}
    tops = set()
    for name, module in new.items():
        spec = getattr(module, "__spec__", None)
        if "." not in name and spec is not None and str(getattr(spec, "origin", "")).startswith(roots):
            tops.add(name)
    return {name: module for name, module in new.items() if name.partition(".")[0] in tops}, roots
