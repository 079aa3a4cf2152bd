"""Tells the kernels that a script registers from those of torch. `trace.py` loads it."""

import os
import re

import torch


def registrations():
    """The kernels that Python code has registered, as "aten/cos/CPU"."""
    return getattr(torch.library, "_impls", ())


def places():
    """The modules and classes of torch whose functions a script may replace, by name."""
    names = ("nn.functional", "linalg", "fft", "special", "Tensor", "nn.init", "nn.Linear", "nn.LayerNorm")
    known = {"torch": torch}
    for name in names:
        place = torch
        for part in name.split("."):
            place = getattr(place, part, None)
        if place is not None:
            known["torch." + name] = place
    return known


class OwnKernels:
    """The operations of torch for which the script registers a kernel, in `names`, as "aten::cos".

    `unknown` has those of which torch does not tell who registered their kernels.
    """

    def __init__(self):
        self.names, self.unknown = set(), set()
        self.known = set(registrations())
        self.functions = {name: dict(vars(place)) for name, place in places().items()}

    def replacements(self):
        """The functions of torch that the script replaced, and its own autograd functions."""
        names = [
            "%s.%s" % (place, name)
            for place, holder in places().items()
            for name, value in vars(holder).items()
            if value is not self.functions[place].get(name, value) and is_foreign(value)
        ]
        functions = torch.autograd.Function.__subclasses__()
        names += ["__main__." + each.__name__ for each in functions if each.__module__ == "__main__"]
        return sorted(name[:120] for name in names if name.replace(".", "").isidentifier() and name.isascii())

    def look(self):
        """Note what was registered since the last time. At the script's end Python has removed it."""
        if len(registrations()) == len(self.known):
            return
        fresh = set(registrations()) - self.known
        self.known = set(registrations())
        for name in {"::".join(each.split("/")[:2]) for each in fresh if not each.endswith("/Meta")}:
            self.note(name)

    def note(self, name):
        """Put an operation into `names` or `unknown` if its kernels may be the script's."""
        foreign = has_foreign_kernel(name)
        if foreign is None:
            self.unknown.add(name)
        elif foreign:
            self.names.add(name)

    def all_of(self, operations):
        """All names, also of compiled code, for (name, overload) of what ran; and all of unknown origin."""
        for name, overload in operations:
            self.note(name + ("." + overload if overload else ""))
        own, unknown = ({name.split(".")[0] for name in names} for names in (self.names, self.unknown))
        return sorted(own), sorted(unknown - own)


def is_foreign(function):
    """Whether a function is not one of torch's or Python's own."""
    module = getattr(function, "__module__", None)
    return callable(function) and not str(module).startswith(("torch", "builtins"))


def has_foreign_kernel(name):
    """Whether torch itself did not register all kernels of an operation ("aten::add.Tensor").

    None if torch does not tell.
    """
    if not name.startswith("aten::"):
        return False
    try:
        text = torch._C._dispatch_dump(name)
    except Exception:
        return None
    places = re.findall(r"^(?!debug)\S+.*: registered at (.+):[0-9]+ ::", text, re.MULTILINE)
    if not places:
        return None
    built = re.search(r"^debug: registered at (.*?)build/aten/", text, re.MULTILINE)
    package = os.path.dirname(torch.__file__) + os.sep
    for path in places:
        ours = path.startswith(package) and path != package + "library.py"
        if os.path.isabs(path) and not ours and not (built and path.startswith(built[1])):
            return True
    return False
