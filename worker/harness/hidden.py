"""Hides modules that the paused interpreter imported, until the script imports them. `pause.py` loads it."""

import os
import sys


class Hidden:
    """A finder, first in `sys.meta_path`, for the modules that only the pause imported so far.

    `modules`: module by name. `roots`: the site-packages folders, each with a `/` at its end. `watched`: the
    name of the package that the warm start is about ("torch"). `trip`: a function that ends the attempt, or
    None.
    """

    def __init__(self, modules, roots, watched):
        self.modules = modules
        self.roots = roots
        self.watched = watched
        self.trip = None

    def find_spec(self, name, path=None, target=None):
        """The spec of a hidden module, whose loader shows it; None for every other module."""
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
        """Whether a cold start would import another file under this name; then it ends the attempt."""
        spec = self.find_cold(name, None, None)
        if spec is not None and spec.origin != module.__spec__.origin:
            self.end_attempt()
            return True
        return False

    def find_cold(self, name, path, target):
        """The spec that the other finders give, as in a cold start; None if they find nothing."""
        for finder in list(sys.meta_path):
            if getattr(finder, "__module__", "") != __name__ and hasattr(finder, "find_spec"):
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None

    def notice(self, name, path, target):
        """End the attempt if the script imports another installed package before torch.

        In a cold start that package would load its libraries before torch's.
        """
        # The toolchain's start-up files run before the script. Only the script has its folder on the path.
        started = sys.path[:1] == ["/home/u"]
        if started and path is None and self.watched in self.modules and self.trip is not None:
            spec = self.find_cold(name, path, target)
            if spec is not None and str(spec.origin).startswith(self.roots):
                self.end_attempt()

    def end_attempt(self):
        """Call `trip`, if the tripwire is in place."""
        if self.trip is not None:
            self.trip()

    def show(self, name):
        """Put the module and those that came with it into `sys.modules`, in the order of a first import."""
        top = name.partition(".")[0]
        for other in list(self.modules):
            if top in (self.watched, other) or other.startswith(top + "."):
                module = self.modules.pop(other)
                if other != name:
                    sys.modules.setdefault(other, module)
        if not self.modules:
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]


class Restore:
    """A loader that gives the hidden module instead of executing it again."""

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
    """The modules that were imported since `before` and whose top-level package is installed.

    Returns module by name, and a tuple of the site-packages folders, each with a `/` at its end.
    """
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
