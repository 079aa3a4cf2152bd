"""Tells the kernels that a script registers from those of torch. `trace.py` loads it."""

import gc
import os
import re
import sys
import weakref

import torch

PACKAGE = os.path.dirname(torch.__file__) + os.sep
MODES = "torch.utils._python_dispatch"
COMPILER = "torch._dynamo"
DECIDES = ("__torch_function__", "__torch_dispatch__")
# Code there is not the script's: other packages, Python's own, and the harness.
ELSEWHERE = (
    os.path.dirname(os.path.dirname(PACKAGE)) + os.sep, os.path.dirname(os.__file__) + os.sep,
    "/run/samehere/", "<frozen",
)  # fmt: skip


def registrations():
    """The kernels that Python code has registered, as "aten/cos/CPU"."""
    return getattr(torch.library, "_impls", ())


def places():
    """The modules and classes of torch whose functions a script may replace, by name."""
    names = ("nn.functional", "linalg", "fft", "special", "Tensor", "nn.init", "autograd", "_C._nn")
    known = {"torch": torch}
    for name in names:
        place = torch
        for part in name.split("."):
            place = getattr(place, part, None)
        if place is not None:
            known["torch." + name] = place
    for space in ("nn", "optim"):
        for name, value in vars(getattr(torch, space)).items():
            if isinstance(value, type) and value.__module__.startswith("torch."):
                known["torch.%s.%s" % (space, name)] = value
    return known


def subclasses_of(parent):
    """All classes below a class."""
    for each in type.__subclasses__(parent):
        yield each
        yield from subclasses_of(each)


def layers_of(function):
    """A function and what it wraps: `functools.wraps` makes it look like that."""
    while function is not None:
        function = getattr(function, "__func__", function)
        yield function
        function = getattr(function, "__wrapped__", None)


def file_of(function):
    """The file that has a function's code; None if it has no code of Python."""
    return getattr(getattr(function, "__code__", None), "co_filename", None)


def is_of_the_script(function):
    """Whether code of a function stands outside torch, the other packages, Python and the harness."""
    files = map(file_of, layers_of(function))
    return any(file is not None and not file.startswith(ELSEWHERE) for file in files)


def own_classes(seen=None):
    """The script's own derivatives, and its classes that decide what operations of torch give, by name.

    `seen`: weak references to classes by their ids. These are left out, and the others are added.
    """
    parents = {torch.Tensor: DECIDES, torch.autograd.Function: ("forward", "backward")}
    for module, name in (("torch.overrides", "TorchFunctionMode"), (MODES, "TorchDispatchMode")):
        parent = getattr(sys.modules.get(module), name, None)
        if parent is not None:
            parents[parent] = DECIDES
    for parent, methods in parents.items():
        for each in subclasses_of(parent):
            if seen is not None:
                if id(each) in seen and seen[id(each)]() is each:
                    continue
                seen[id(each)] = weakref.ref(each)
            for method in methods:
                if is_of_the_script(vars(each).get(method)):
                    decides = "." + method if method in DECIDES else ""
                    yield "__main__.%s%s" % (each.__name__, decides)
                    break


def hooks():
    """The functions of torch by which the script put its own hooks on tensors and modules that it holds."""
    main = list(vars(sys.modules["__main__"]).values())
    whole = [each for each in main if issubclass(type(each), torch.nn.Module) and "_modules" in vars(each)]
    modules = [part for each in whole for part in torch.nn.Module.modules(each)]
    tensors = [each for each in main if type(each) in (torch.Tensor, torch.nn.Parameter)]
    tensors += [each for module in modules for each in module.parameters(recurse=False)]
    if any(is_of_the_script(hook) for each in tensors for hook in (each._backward_hooks or {}).values()):
        yield "torch.Tensor.register_hook"
    holders = [vars(each) for each in modules] + [vars(torch.nn.modules.module)]
    for name in ("forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks"):
        groups = [each.get(start + name) for each in holders for start in ("_", "_global_")]
        if any(is_of_the_script(hook) for each in groups if each for hook in each.values()):
            yield "torch.nn.Module.register_" + name[:-1]


class OwnKernels:
    """The operations of torch for which the script registers a kernel, in `names`, as "aten::cos".

    `unknown` has those of which torch does not tell who registered their kernels.
    """

    def __init__(self):
        self.names, self.unknown = set(), set()
        self.known = set(registrations())
        # Whether all kernels of an operation are torch's, as of the last registration.
        self.of_torch = {}
        self.functions = {name: dict(vars(place)) for name, place in places().items()}
        # Classes that the script makes for a while. Only the collector frees them.
        self.classes, self.seen = set(), {}
        gc.callbacks.append(self.remember)

    def remember(self, phase, _):
        """Note the script's own classes before the collector frees some."""
        if phase == "start":
            self.classes.update(own_classes(self.seen))

    def replacements(self):
        """The functions of torch that the script replaced, and its own implementations of operations."""
        names = [
            "%s.%s" % (place, name)
            for place, holder in places().items()
            for name, value in vars(holder).items()
            if is_another(self.functions.get(place, {}).get(name, value), value)
            # Torch itself puts another class there for another default dtype.
            and (place, name) != ("torch", "Storage")
        ]
        names += {*own_classes(), *self.classes, *hooks()}
        return sorted(
            {name[:120] for name in names if name.replace(".", "").isidentifier() and name.isascii()}
        )

    def look(self):
        """Note what was registered since the last time. At the script's end Python has removed it."""
        if len(registrations()) == len(self.known):
            return
        fresh = set(registrations()) - self.known
        self.known = set(registrations())
        self.of_torch.clear()
        for name in {"::".join(each.split("/")[:2]) for each in fresh if not each.endswith("/Meta")}:
            self.note(name)

    def is_torchs(self, known):
        """Whether torch itself registered all kernels of an operation, which has `name` and `overload`."""
        answer = self.of_torch.get(id(known))
        if answer is None:
            name = known.name + ("." + known.overload if known.overload else "")
            answer = known.name not in {each.split(".")[0] for each in (*self.names, *self.unknown)}
            answer = self.of_torch[id(known)] = answer and has_foreign_kernel(name) is False
        return answer

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


def is_another(before, now):
    """Whether a function stands for another one that torch had: the script's, or torch's of another name."""
    if now is before or not callable(now):
        return False
    for layer in layers_of(now):
        file = file_of(layer)
        if file is not None and not file.startswith(PACKAGE):
            return True
        if file is None and not str(getattr(layer, "__module__", None)).startswith(("torch", "builtins")):
            return True
    if str(getattr(now, "__module__", None)).startswith(COMPILER) and "<locals>" in str(now.__qualname__):
        # The compiler puts guards of its own around what modules do.
        return False
    return getattr(before, "__name__", None) != getattr(now, "__name__", None)


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
    for path in places:
        ours = path.startswith(PACKAGE) and path != PACKAGE + "library.py"
        if os.path.isabs(path) and not ours and not (built and path.startswith(built[1])):
            return True
        # Python code of a folder, of a notebook or of `exec`.
        if not os.path.isabs(path) and path.endswith((".py", ">")):
            return True
    return False
