"""Reads a script for code that could behave differently in a warm start.

Such code observes its own process, measures time, or depends on what happens before and during `import
torch`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from worker.warm.variables import READ_AT_START

# Modules that may be imported before torch.
_HARMLESS = frozenset({"torch", "numpy", "__future__"})
_OBSERVERS = frozenset(
    {
        *(
            "gc",
            "tracemalloc",
            "faulthandler",
            "resource",
            "ctypes",
            "_ctypes",
            "cffi",
            "psutil",
            "objgraph",
            "guppy",
            "pympler",
        ),
        *(
            "memory_profiler",
            "sitecustomize",
            "usercustomize",
            "site",
            "pkgutil",
            "pkg_resources",
            "modulefinder",
            "zipimport",
        ),
    }
)
_STOPWATCHES = frozenset(
    {
        "timeit",
        "cProfile",
        "profile",
        "pstats",
        "line_profiler",
        "pyinstrument",
        "trace",
        "yappi",
        "viztracer",
    }
)
_TORCH_STOPWATCHES = (
    "torch.profiler",
    "torch.utils.benchmark",
    "torch.utils.bottleneck",
    "torch.autograd.profiler",
    "torch.monitor",
)
# Modules with a state that torch's import reads or changes.
_TOUCHED_BY_IMPORT = ("warnings", "logging", "signal", "threading", "locale", "atexit")
_DYNAMIC = frozenset({"exec", "eval", "compile", "__import__", "globals", "vars", "breakpoint"})
_IDENTITY = frozenset({"id", "hash"})
_DYNAMIC_CALLS = (
    *(
        "importlib.reload",
        "importlib.import_module",
        "importlib.util.spec_from_file_location",
        "importlib.util.module_from_spec",
    ),
    "importlib.util.find_spec",
    *(
        "importlib.machinery",
        "importlib.invalidate_caches",
        "runpy.run_path",
        "runpy.run_module",
        "imp.reload",
        "imp.load_source",
    ),
)
_PROCESS_CALLS = ("os.exec", "sys.setdlopenflags", "sys.addaudithook", "sys.setswitchinterval")
_SYS = frozenset(
    {
        *(
            "modules",
            "meta_path",
            "path_hooks",
            "path_importer_cache",
            "path",
            "getrefcount",
            "getsizeof",
            "settrace",
            "setprofile",
        ),
        *(
            "_current_frames",
            "_getframe",
            "getallocatedblocks",
            "intern",
            "hash_info",
            "monitoring",
            "activate_stack_trampoline",
        ),
    }
)
_OTHER_STARTS = frozenset({"spawn", "forkserver"})
_READING = frozenset({"get", "copy", "items", "keys", "values", "__contains__", "__getitem__"})
_WRITING = frozenset({"setdefault", "pop", "update", "clear", "popitem", "__setitem__", "__delitem__"})
_MOST_NODES = 200_000


@dataclass(frozen=True, slots=True)
class Doubt:
    """A reason why a warm start might differ; `detail` contains no text of the script.

    `line` counts from 1.
    """

    code: str
    detail: str
    line: int = 0


def first_doubt(script: str) -> Doubt | None:
    """The first doubt by line; None if the script may start warm."""
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # The toolchain's Python may be able to parse it.
        return Doubt("unreadable", "this node's Python can't parse the script")
    reader = _Reader(tree)
    if not reader.imports_torch:
        return Doubt("no_torch_import", "the script has no visible import of torch")
    return min(reader.doubts(), key=lambda doubt: doubt.line, default=None)


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self._nodes = [node for node in ast.walk(tree) if hasattr(node, "lineno")]
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self._names = dict(_imported_names(self._nodes))
        self.imports_torch = any("torch" in _tops(node) for node in self._nodes)
        # Only an import that runs in any case separates the code before it from the code after it.
        certain = [node.lineno for node in _unconditional(tree.body) if "torch" in _tops(node)]
        self._torch_line = min(certain, default=sys.maxsize)

    def doubts(self) -> Iterator[Doubt]:
        if len(self._nodes) > _MOST_NODES:
            yield Doubt("too_long", "the script is too long for this check")
            return
        for node in self._nodes:
            for code, detail in self._of(node):
                yield Doubt(code, detail, node.lineno)

    def _of(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from self._of_import(node)
            case ast.Call():
                yield from self._of_call(node)
            case ast.Constant(value=str(text)) if text in _OTHER_STARTS:
                yield "other_process_start", "starts processes by another method than fork"
            case ast.Name() | ast.Attribute():
                yield from self._of_name(node)
            case _:
                return

    def _of_import(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
        modules = _modules(node)
        tops = {module.partition(".")[0] for module in modules}
        if tops & _OBSERVERS:
            yield "observes_process", "imports a module that observes its own process"
        if tops & _STOPWATCHES or any(module.startswith(_TORCH_STOPWATCHES) for module in modules):
            yield "measures_time", "measures time, which a warm start shortens"
        if any(alias.name == "*" for alias in node.names) and tops & {"os", "sys", "builtins"}:
            yield "hidden_names", "imports all names of a system module"
        early = tops - _HARMLESS - sys.stdlib_module_names
        if node.lineno < self._torch_line and early:
            yield "import_order", "imports another package before torch"

    def _of_call(self, node: ast.Call) -> Iterator[tuple[str, str]]:
        called = self._dotted_name(node.func)
        if (
            called in _DYNAMIC
            or called.startswith(_DYNAMIC_CALLS)
            or called.endswith((".import_module", ".reload"))
        ):
            yield "dynamic_code", "runs or imports code that is known only at run time"
        if called in _IDENTITY:
            yield "identity", "reads an object's identity or hash, which forks share"
        if called.startswith(_PROCESS_CALLS) or called.endswith(("os.putenv", "os.unsetenv")):
            yield "changes_process", "changes properties of the process that are set at its start"
        if called == "getattr" and len(node.args) > 1 and not self._is_harmless_getattr(node):
            yield "hidden_names", "looks up a name in a system module at run time"
        if called.endswith(("multiprocessing.spawn", "mp.spawn", ".start_processes")):
            yield "other_process_start", "starts processes by another method than fork"

    def _is_harmless_getattr(self, node: ast.Call) -> bool:
        owner, name = self._dotted_name(node.args[0]), node.args[1]
        if owner.partition(".")[0] in {"os", "sys", "builtins", "importlib", "__builtins__", "gc"}:
            return False
        return not (isinstance(name, ast.Constant) and name.value in {"environ", "modules", "__dict__"})

    def _of_name(self, node: ast.Name | ast.Attribute) -> Iterator[tuple[str, str]]:
        name = self._dotted_name(node)
        if isinstance(self._parents.get(node), ast.Attribute) and not name.endswith("environ"):
            return
        if name.endswith("os.environ") or name in {"os.environb", "posix.environ", "nt.environ"}:
            yield from self._of_environ(node)
        parts = name.split(".")
        if parts[0] == "sys" and len(parts) > 1 and parts[1] in _SYS:
            yield "observes_process", "reads or changes the interpreter's own state"
        if parts[-1] == "__subclasses__":
            yield "observes_process", "lists the classes that exist so far"
        if (
            parts[0] in {"__builtins__", "builtins"}
            or name in {"__import__", "__loader__", "__spec__"}
            or "__dict__" in parts
        ):
            yield "dynamic_code", "accesses Python's own names"
        if parts[0] == "time" and len(parts) > 1 and node.lineno < self._torch_line:
            yield "measures_time", "reads a clock before the import of torch, which a warm start shortens"
        if parts[0] in _TOUCHED_BY_IMPORT and len(parts) > 1 and node.lineno < self._torch_line:
            yield "before_torch", "before the import of torch, changes a state that the import reads"
        if name.startswith(_TORCH_STOPWATCHES):
            yield "measures_time", "measures time, which a warm start shortens"

    def _of_environ(self, node: ast.Name | ast.Attribute) -> Iterator[tuple[str, str]]:
        """Doubts about a use of `os.environ`.

        There are none about reading, and about setting a variable that no library reads at start.
        """
        parent = self._parents.get(node)
        keys: list[ast.expr | None] = []
        match parent:
            case ast.Subscript(ctx=ast.Load()) | ast.Compare() | ast.For() | ast.comprehension():
                return
            case ast.Subscript(slice=key):
                keys = [key]
            case ast.Attribute(attr=attr) if attr in _READING:
                return
            case ast.Attribute(attr=attr) if attr in _WRITING:
                keys = _keys_of_call(self._parents.get(parent))
            case (
                ast.Dict() | ast.Call(func=ast.Name(id="dict" | "sorted" | "len" | "list" | "print" | "iter"))
            ):
                return
            case _:
                keys = [None]
        for name in keys:
            if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
                yield "environment", "changes environment variables in a way that this check can't follow"
            elif name.value.startswith(READ_AT_START):
                yield "environment", "sets an environment variable that libraries read when they start"

    def _dotted_name(self, node: ast.expr) -> str:
        """The full name of an expression by imports and attributes; `?` for a computed value."""
        match node:
            case ast.Attribute(value=value, attr=attr):
                return f"{self._dotted_name(value)}.{attr}"
            case ast.Name(id=name):
                return self._names.get(name, name)
            case _:
                return "?"


def _keys_of_call(call: ast.AST | None) -> list[ast.expr | None]:
    """The keys that a call of a method of `os.environ` writes to; None is an unknown key."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return [None]
    if call.func.attr != "update":
        return [*call.args[:1]] or [None]
    keys: list[ast.expr | None] = [
        ast.Constant(keyword.arg) if keyword.arg else None for keyword in call.keywords
    ]
    for argument in call.args:
        keys += argument.keys if isinstance(argument, ast.Dict) else [None]
    return keys


def _modules(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=0):
            return [module or "", *(f"{module}.{alias.name}" for alias in names)]
        case _:
            return []


def _tops(node: ast.AST) -> set[str]:
    return {module.partition(".")[0] for module in _modules(node)}


def _imported_names(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, and the full name that it stands for."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
            case ast.ImportFrom(module=str(module), names=names):
                for alias in names:
                    yield alias.asname or alias.name, f"{module}.{alias.name}"
            case _:
                continue


def _unconditional(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run in this order in any case, unless the script ends before."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.With):
            yield from _unconditional(statement.body)
