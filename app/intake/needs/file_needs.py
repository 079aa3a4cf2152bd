"""Files that a script reads but does not write, by static reading. Only the reporter has them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from app.intake.code.syntax import dotted_name, nodes_of
from app.intake.reading import Need, NeedKind

_FILE_READERS = {
    ("torch", "load"), ("jit", "load"), ("torchaudio", "load"), ("io", "read_image"),
    ("io", "read_video"), ("onnx", "load"), ("np", "load"), ("numpy", "load"), ("np", "loadtxt"),
    ("np", "genfromtxt"), ("np", "fromfile"), ("np", "memmap"), ("joblib", "load"), ("Image", "open"),
    ("cv2", "imread"), ("cv2", "VideoCapture"), ("plt", "imread"), ("imageio", "imread"),
    ("io", "imread"), ("h5py", "File"), ("zipfile", "ZipFile"), ("tarfile", "open"), ("io", "loadmat"),
    ("nib", "load"), ("librosa", "load"), ("sf", "read"), ("ctypes", "CDLL"), ("cdll", "LoadLibrary"),
    ("datasets", "ImageFolder"), ("os", "listdir"), ("ET", "parse"),
}  # fmt: skip
# Their second argument says whether they write the file.
_WITH_MODE = {("h5py", "File"), ("zipfile", "ZipFile"), ("tarfile", "open")}
_READERS_OF_ALL = {"load_file", "read_image", "ImageFolder"}
_PATH_READERS = {"read_text", "read_bytes", "open", "iterdir"}
_PATH_WRITERS = {"write_text", "write_bytes", "touch", "mkdir"}
_WRITERS = {
    "save",
    "savez",
    "savez_compressed",
    "dump",
    "to_csv",
    "to_parquet",
    "savetxt",
    "export",
    "tofile",
    "write_text",
    "write_bytes",
}
_ALWAYS_THERE = ("/proc", "/sys", "/dev", "/etc/", "/usr/")
_PLACES = {"", ".", "..", "./", "/", "~", "/tmp"}  # noqa: S108 - named by a script, not used
_MOST_NAME = 200
# Modules with these names are the reporter's own: nobody installs a package of this name.
LOCAL_MODULES = frozenset(
    {
        "common", "config", "configs", "data", "dataloader", "dataset", "helper", "helpers", "layers",
        "lib", "main", "model", "models", "modules", "my_model", "my_module", "mylib", "mymodel",
        "mymodule", "net", "nets", "network", "networks", "options", "opts", "src", "train", "trainer",
        "util", "utils",
    }
)  # fmt: skip
_FILE_ERRORS = {"FileNotFoundError", "OSError", "IOError", "Exception", "BaseException"}
_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


def _constants(tree: ast.Module) -> dict[str, str]:
    """Names that stand for one literal text throughout the script."""
    constants: dict[str, str] = {}
    stores: dict[str, int] = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stores[node.id] = stores.get(node.id, 0) + 1
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            constants |= {
                target.id: node.value.value for target in node.targets if isinstance(target, ast.Name)
            }
    return {name: value for name, value in constants.items() if stores.get(name) == 1}


def file_needs(tree: ast.Module) -> list[Need]:
    """The files that the script reads but does not write, and the reporter's own modules."""
    constants = _constants(tree)
    optional = _optional_nodes(tree, _FILE_ERRORS)
    written_names: set[str] = set()
    reads_of_names: list[tuple[str, int]] = []
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call):
            continue
        path = dotted_name(node.func)
        if path[-1:] and path[-1] in _WRITERS:
            written_names |= {
                value for argument in node.args for value in [_text(argument, constants)] if value is not None
            }
        owner = _path_of(node)
        name = (
            _text(owner, constants)
            if owner is not None
            else _text(node.args[0], constants)
            if node.args
            else None
        )
        if name is None:
            continue
        reads, writes = _of_path(node, path) if owner is not None else _of_name(node, path)
        if writes:
            written_names.add(name)
        elif reads and id(node) not in optional:
            reads_of_names.append((name, node.lineno))
    modules = [(f"{name}.py", line) for name, line in _own_modules(tree)]
    return [
        Need(kind=NeedKind.FILE, name=name[:_MOST_NAME], line=line)
        for name, line in [*reads_of_names, *modules]
        if name not in written_names
        and name not in _PLACES
        and "://" not in name[:10]
        and not name.startswith(_ALWAYS_THERE)
    ]


def _text(node: ast.expr, constants: Mapping[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _of_path(call: ast.Call, path: tuple[str, ...]) -> tuple[bool, bool]:
    """(reads, writes) for a method of a path."""
    writes = path[-1] in _PATH_WRITERS or (path[-1] == "open" and not _reads(call, mode_at=0))
    return path[-1] in _PATH_READERS and not writes, writes


def _of_name(call: ast.Call, path: tuple[str, ...]) -> tuple[bool, bool]:
    """(reads, writes) for a call with a file's name."""
    has_mode = path == ("open",) or path[-2:] in _WITH_MODE
    writes = has_mode and not _reads(call, mode_at=1)
    return not writes and _is_reader(call, path), writes


def _is_reader(call: ast.Call, path: tuple[str, ...]) -> bool:
    if path == ("open",) or (path[-1:] and path[-1] in _READERS_OF_ALL):
        return True
    if path[:1] in {("pd",), ("pandas",)} and path[-1].startswith("read_"):
        return path[-1] not in {"read_clipboard", "read_sql", "read_html"}
    if path[-2:] == ("ctypes", "CDLL"):
        # Libraries of the system exist everywhere; those with a path do not.
        return "/" in str(getattr(call.args[0], "value", ""))
    if path[-2:] in {*_WITH_MODE, ("np", "memmap")}:
        return _reads(call, mode_at=1)
    return path[-2:] in _FILE_READERS


def _path_of(call: ast.Call) -> ast.expr | None:
    """The argument of `Path`, in `Path("a.txt").read_text()`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Call) and dotted_name(owner.func)[-1:] == ("Path",) and len(owner.args) == 1:
        return owner.args[0]
    return None


def _optional_nodes(tree: ast.Module, errors: set[str]) -> set[int]:
    """Ids of the nodes in a `try` that catches such an error: the script works without them."""
    return {
        id(part)
        for node in nodes_of(tree)
        if isinstance(node, ast.Try) and any(_catches(handler, errors) for handler in node.handlers)
        for statement in node.body
        for part in ast.walk(statement)
    }


def _catches(handler: ast.ExceptHandler, errors: set[str]) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(each is None or bool({*dotted_name(each)[-1:]} & errors) for each in caught)


def _own_modules(tree: ast.Module) -> list[tuple[str, int]]:
    """The reporter's own modules, with lines: relative imports, and names in LOCAL_MODULES."""
    modules: list[tuple[str, int]] = []
    optional = _optional_nodes(tree, _IMPORT_ERRORS)
    for node in nodes_of(tree):
        if id(node) in optional:
            continue
        if isinstance(node, ast.Import):
            modules += [
                (root, node.lineno)
                for alias in node.names
                if (root := alias.name.partition(".")[0]) in LOCAL_MODULES
            ]
        elif isinstance(node, ast.ImportFrom):
            root = (node.module or node.names[0].name).partition(".")[0]
            if node.level or root in LOCAL_MODULES:
                modules.append((root, node.lineno))
    return modules


def _reads(call: ast.Call, *, mode_at: int) -> bool:
    modes = [
        *call.args[mode_at : mode_at + 1],
        *(keyword.value for keyword in call.keywords if keyword.arg == "mode"),
    ]
    mode = modes[0].value if modes and isinstance(modes[0], ast.Constant) else "r"
    return isinstance(mode, str) and not set(mode) & set("wax+")
