"""Tells the kernels that a script registers from those of torch. `trace.py` loads it."""

import os
import re

import torch


def registrations():
    """The kernels that Python code has registered, as "aten/cos/CPU"."""
    return getattr(torch.library, "_impls", ())


class OwnKernels:
    """The operations of torch for which the script registers a kernel, in `names`, as "aten::cos"."""

    def __init__(self):
        self.names = set()
        self.known = set(registrations())

    def look(self):
        """Note what was registered since the last time. At the script's end Python has removed it."""
        if len(registrations()) == len(self.known):
            return
        fresh = set(registrations()) - self.known
        self.known = set(registrations())
        names = {"::".join(each.split("/")[:2]) for each in fresh if not each.endswith("/Meta")}
        self.names.update(filter(has_foreign_kernel, names))

    def all_of(self, operations):
        """All names, also those registered by compiled code, for (name, overload) of what ran."""
        names = {name + ("." + overload if overload else "") for name, overload in operations}
        return sorted({name.split(".")[0] for name in self.names.union(filter(has_foreign_kernel, names))})


def has_foreign_kernel(name):
    """Whether torch itself did not register all kernels of an operation ("aten::add.Tensor")."""
    if not name.startswith("aten::"):
        return False
    try:
        text = torch._C._dispatch_dump(name)
    except Exception:
        return False
    built = re.search(r"^debug: registered at (.*?)build/aten/", text, re.MULTILINE)
    package = os.path.dirname(torch.__file__) + os.sep
    for path in re.findall(r"^(?!debug)\S+.*: registered at (.+):[0-9]+ ::", text, re.MULTILINE):
        ours = path.startswith(package) and path != package + "library.py"
        if os.path.isabs(path) and not ours and not (built and path.startswith(built[1])):
            return True
    return False
