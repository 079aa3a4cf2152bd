"""What a script cannot run without, by static reading of its syntax tree."""

from __future__ import annotations

import ast
import re
import sys

from app.intake.reading import Need, NeedKind

# Import names whose distribution is called otherwise.
_DISTRIBUTIONS = {"sklearn": "scikit-learn", "cv2": "opencv-python", "PIL": "pillow", "yaml": "pyyaml", "skimage": "scikit-image"}
_FILE_READERS = {("torch", "load"), ("np", "load"), ("numpy", "load"), ("pd", "read_csv"), ("pandas", "read_csv"), ("Image", "open")}
_NETWORK_ROOTS = {"requests", "urllib", "wget", "httpx", "boto3"}
_NETWORK_CALLS = {
    "from_pretrained",
    "load_state_dict_from_url",
    "snapshot_download",
    "hf_hub_download",
    "urlopen",
    "urlretrieve",
    "load_dataset",
}
_CUDA_DEVICE = re.compile(r"(?:cuda|gpu)(?::(\d+))?")
# Calls of torch.cuda that do nothing without a card, and fail on none.
_HARMLESS = {"is_available", "device_count", "manual_seed", "manual_seed_all", "is_initialized", "empty_cache", "seed", "seed_all"}


def needs_of(tree: ast.Module) -> tuple[Need, ...]:
    """The needs of a script, each once, in the order of its lines."""
    needs = [*_packages(tree), *_gpus(tree), *_files(tree), *_network(tree), *_from_outside(tree)]
    unique: dict[tuple[NeedKind, str], Need] = {}
    for need in sorted(needs, key=lambda need: (need.line or 0, need.kind)):
        known = unique.get((need.kind, need.name))
        if known is None or known.count < need.count:
            unique[need.kind, need.name] = need if known is None else need.model_copy(update={"line": known.line})
    return tuple(unique.values())


def _packages(tree: ast.Module) -> list[Need]:
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in names:
            root = name.partition(".")[0]
            if root not in sys.stdlib_module_names:
                found.append(Need(kind=NeedKind.PACKAGE, name=_DISTRIBUTIONS.get(root, root), line=getattr(node, "lineno", None)))
    return found


def _dotted(node: ast.expr) -> tuple[str, ...]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (*([node.id] if isinstance(node, ast.Name) else []), *reversed(names))


def _is_available_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _dotted(node.func)[-2:] in {("cuda", "is_available"), ("cuda", "device_count")}


class _GpuFinder(ast.NodeVisitor):
    """Collects uses of a GPU that no `is_available()` stands in front of, and guards that end the script without one."""

    def __init__(self) -> None:
        self.found: list[Need] = []

    def visit_IfExp(self, node: ast.IfExp) -> None:
        if not any(_is_available_call(part) for part in ast.walk(node.test)):
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if not any(_is_available_call(part) for part in ast.walk(node.test)):
            self.generic_visit(node)
            return
        negative = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
        if negative and any(_ends_script(part) for part in node.body):
            self._need(node)
        for part in node.orelse if not negative else node.body:
            self.visit(part)

    def visit_Assert(self, node: ast.Assert) -> None:
        if any(_is_available_call(part) for part in ast.walk(node.test)):
            self._need(node)

    def visit_Call(self, node: ast.Call) -> None:
        path = _dotted(node.func)
        name = path[-1] if path else getattr(node.func, "attr", "")
        if name == "cuda" and isinstance(node.func, ast.Attribute):
            first = node.args[0] if node.args else None
            self._need(node, index=first.value if isinstance(first, ast.Constant) and isinstance(first.value, int) else 0)
        elif path[:2] == ("torch", "cuda") and name not in _HARMLESS:
            self._need(node)
        elif name == "is_available":
            return
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            found = _CUDA_DEVICE.fullmatch(node.value)
            if found and not node.value.startswith("gpu"):
                self._need(node, index=int(found[1] or 0))
            elif node.value == "nccl":
                self._need(node)

    def _need(self, node: ast.AST, *, index: int = 0) -> None:
        self.found.append(Need(kind=NeedKind.GPU, count=min(index, 15) + 1, line=getattr(node, "lineno", None)))


def _ends_script(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        return True
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and bool(_dotted(call.func)) and _dotted(call.func)[-1] in {"exit", "quit", "_exit"}


def _gpus(tree: ast.Module) -> list[Need]:
    finder = _GpuFinder()
    finder.visit(tree)
    ranks = _ranks(tree)
    if finder.found and ranks > 1:
        finder.found.append(finder.found[0].model_copy(update={"count": ranks}))
    return finder.found


def _ranks(tree: ast.Module) -> int:
    """How many processes the script starts that each take a GPU; a literal `nprocs` or `world_size`."""
    counts = [
        keyword.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg in {"nprocs", "world_size", "num_processes"}
        and isinstance(keyword.value, ast.Constant)
        and isinstance(keyword.value.value, int)
    ]
    return min(max(counts, default=1), 16)


def _files(tree: ast.Module) -> list[Need]:
    opened = _opened(tree)
    written = {path for path, reads in opened if not reads}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _dotted(node.func)[-2:] in _FILE_READERS and node.args:
            first = node.args[0]
            name = first.value if isinstance(first, ast.Constant) else None
            if isinstance(name, str) and name not in written and not _saves(tree, name):
                found.append(Need(kind=NeedKind.FILE, name=name[:200], line=node.lineno))
    for name, reads in opened:
        if reads and name not in written and not name.startswith(("/proc", "/sys", "/dev")):
            found.append(Need(kind=NeedKind.FILE, name=name[:200]))
    return found


def _saves(tree: ast.Module, path: str) -> bool:
    """Whether the script itself writes the file it reads."""
    return any(
        isinstance(node, ast.Call)
        and bool(_dotted(node.func))
        and _dotted(node.func)[-1] in {"save", "savez", "dump", "to_csv", "savetxt", "export"}
        and any(isinstance(argument, ast.Constant) and argument.value == path for argument in node.args)
        for node in ast.walk(tree)
    )


def _opened(tree: ast.Module) -> list[tuple[str, bool]]:
    """Literal paths given to open(), and whether for reading."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open" and node.args:
            path = node.args[0]
            modes = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
            mode = modes[0].value if modes and isinstance(modes[0], ast.Constant) else "r"
            if isinstance(path, ast.Constant) and isinstance(path.value, str):
                found.append((path.value, isinstance(mode, str) and not set(mode) & set("wax+")))
    return found


def _network(tree: ast.Module) -> list[Need]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        path = _dotted(node.func)
        downloads = any(k.arg == "download" and isinstance(k.value, ast.Constant) and k.value.value is True for k in node.keywords)
        if (path and (path[0] in _NETWORK_ROOTS or path[-1] in _NETWORK_CALLS or path[:2] == ("torch", "hub"))) or downloads:
            return [Need(kind=NeedKind.NETWORK, line=node.lineno)]
    return []


def _from_outside(tree: ast.Module) -> list[Need]:
    """Arguments and input that a bare start does not give."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            path = _dotted(node.func)
            if path == ("input",):
                found.append(Need(kind=NeedKind.INPUT, line=node.lineno))
            elif path and path[-1] == "add_argument" and _is_required(node):
                found.append(Need(kind=NeedKind.ARGUMENTS, line=node.lineno))
        elif isinstance(node, ast.Subscript) and _dotted(node.value) == ("sys", "argv"):
            index = node.slice
            if isinstance(index, ast.Constant) and isinstance(index.value, int) and index.value > 0:
                found.append(Need(kind=NeedKind.ARGUMENTS, line=node.lineno))
    return found


def _is_required(node: ast.Call) -> bool:
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    first = node.args[0] if node.args else None
    positional = isinstance(first, ast.Constant) and isinstance(first.value, str) and not first.value.startswith("-")
    if positional:
        nargs = keywords.get("nargs")
        return "default" not in keywords and not (isinstance(nargs, ast.Constant) and nargs.value in {"?", "*"})
    required = keywords.get("required")
    return isinstance(required, ast.Constant) and required.value is True
