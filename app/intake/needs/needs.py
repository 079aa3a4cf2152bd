"""The needs of a script, by static reading of its syntax tree."""

from __future__ import annotations

import ast
import sys

from app.intake.code.names import bound_names
from app.intake.code.syntax import dotted_name, nodes_of
from app.intake.needs.device_needs import device_needs
from app.intake.needs.file_needs import LOCAL_MODULES, file_needs
from app.intake.needs.gpu_needs import gpu_needs
from app.intake.needs.memory_needs import memory_needs
from app.intake.reading import Need, NeedKind
from app.intake.words.distributions import DISTRIBUTIONS

_WINDOWS_ONLY = {"winreg", "msvcrt", "_winapi", "winsound"}
_NETWORK_ROOTS = {"requests", "urllib", "wget", "httpx", "boto3", "gdown", "aiohttp"}
_NETWORK_CALLS = {
    "from_pretrained",
    "load_state_dict_from_url",
    "download_url_to_file",
    "snapshot_download",
    "hf_hub_download",
    "urlopen",
    "urlretrieve",
    "load_dataset",
}
_DOWNLOAD_COMMANDS = {"wget", "curl", "git", "pip", "pip3", "aria2c", "kaggle", "huggingface-cli"}
_LAUNCHER_VARIABLES = {"RANK", "LOCAL_RANK", "WORLD_SIZE"}
_MOST_NAME = 200
# The packages that methods of a package import only when they are called.
_NEEDED_BY_METHODS = {
    "xarray": {"interp": "scipy", "interp_like": "scipy", "ffill": "bottleneck", "bfill": "bottleneck"},
    "pandas": {
        "plot": "matplotlib",
        "hist": "matplotlib",
        "boxplot": "matplotlib",
        "to_markdown": "tabulate",
        "style": "jinja2",
        "to_parquet": "pyarrow",
        "read_parquet": "pyarrow",
        "to_feather": "pyarrow",
        "to_xarray": "xarray",
        "read_html": "lxml",
        "to_xml": "lxml",
        "read_xml": "lxml",
    },
    "polars": {
        "from_pandas": "pyarrow",
        "to_pandas": "pyarrow",
        "to_arrow": "pyarrow",
        "from_arrow": "pyarrow",
    },
    "networkx": {
        "draw": "matplotlib",
        "pagerank": "scipy",
        "to_scipy_sparse_array": "scipy",
        "spectral_layout": "scipy",
        "adjacency_matrix": "scipy",
        "laplacian_matrix": "scipy",
        "to_numpy_array": "numpy",
        "to_pandas_edgelist": "pandas",
    },
}
_INPUT_CALLS = {("fileinput", "input"), ("getpass", "getpass"), ("getpass",)}
# These attributes of `sys.stdin` read no input.
_HARMLESS_INPUT_ATTRIBUTES = {"isatty", "fileno", "encoding", "reconfigure", "close", "closed", "name"}
_RANK_VARIABLES = {"RANK", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK"}


def needs_of(tree: ast.Module) -> tuple[Need, ...]:
    """The needs of a script, each once, in the order of its lines."""
    needs = [
        *_packages(tree),
        *gpu_needs(tree),
        *device_needs(tree),
        *memory_needs(tree),
        *file_needs(tree),
        *_network(tree),
        *_outside_needs(tree),
        *_system(tree),
    ]
    unique: dict[tuple[NeedKind, str], Need] = {}
    for need in sorted(needs, key=lambda need: (need.line or 0, need.kind)):
        earlier_need = unique.get((need.kind, need.name))
        if earlier_need is None or earlier_need.count < need.count:
            unique[need.kind, need.name] = (
                need if earlier_need is None else need.model_copy(update={"line": earlier_need.line})
            )
    return tuple(unique.values())


def _imports(tree: ast.Module) -> list[tuple[str, int]]:
    """The imported modules with their lines, without those that the script can do without."""
    optional = {
        id(part)
        for node in nodes_of(tree)
        if isinstance(node, ast.Try) and any(_catches_import_errors(handler) for handler in node.handlers)
        for part in node.body
    }
    modules = []
    for node in nodes_of(tree):
        if id(node) in optional:
            continue
        if isinstance(node, ast.Import):
            modules += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.append((node.module, node.lineno))
    return modules


def _catches_import_errors(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {dotted_name(each)[-1:] for each in caught if each is not None}
    return handler.type is None or bool(names & {("ImportError",), ("ModuleNotFoundError",), ("Exception",)})


def _packages(tree: ast.Module) -> list[Need]:
    roots: dict[str, int] = {}
    for name, line in _imports(tree):
        roots.setdefault(name.partition(".")[0], line)
    methods = {node.attr: node.lineno for node in nodes_of(tree) if isinstance(node, ast.Attribute)}
    for root in tuple(roots):
        for method, package in _NEEDED_BY_METHODS.get(root, {}).items():
            if method in methods:
                roots.setdefault(package, methods[method])
    return [
        Need(kind=NeedKind.PACKAGE, name=DISTRIBUTIONS.get(root, root)[:_MOST_NAME], line=line)
        for root, line in roots.items()
        if root not in sys.stdlib_module_names and root not in LOCAL_MODULES
    ]


def _system(tree: ast.Module) -> list[Need]:
    """The need of Windows."""
    lines = [line for name, line in _imports(tree) if name in _WINDOWS_ONLY]
    lines += [
        node.lineno
        for node in nodes_of(tree)
        if isinstance(node, ast.Attribute) and node.attr in {"windll", "add_dll_directory"}
    ]
    return [Need(kind=NeedKind.OS, name="windows", line=min(lines))] if lines else []


def _network(tree: ast.Module) -> list[Need]:
    modules = {part for name, _ in _imports(tree) for part in name.split(".")}
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call):
            continue
        path = dotted_name(node.func)
        is_download = bool(path) and (
            path[0] in _NETWORK_ROOTS or path[-1] in _NETWORK_CALLS or path[:2] == ("torch", "hub")
        )
        fetches_data = bool(path) and path[-1].startswith("fetch_") and "datasets" in modules | set(path)
        if is_download or fetches_data or _downloads(node, path) or _names_address(node, path):
            return [Need(kind=NeedKind.NETWORK, line=node.lineno)]
    return []


def _names_address(call: ast.Call, path: tuple[str, ...]) -> bool:
    """True if a reading call has a web address, or if a shell is given a download command."""
    texts = [text for argument in call.args[:2] for text in _texts_in(argument)]
    if (
        path[-1:] in {("create_connection",), ("connect",)}
        and call.args
        and isinstance(call.args[0], ast.Tuple)
    ):
        return any("." in text and not text.startswith(("127.", "localhost", "/", "0.")) for text in texts)
    if path[:1] == ("subprocess",) or path[-2:] in {("os", "system"), ("os", "popen")}:
        return any(text.split()[:1] and text.split()[0] in _DOWNLOAD_COMMANDS for text in texts)
    reads = path[-1:] and (path[-1].startswith(("read_", "load", "imread", "open", "get")))
    return bool(reads) and any(
        text.startswith(("http://", "https://", "s3://", "hf://", "gs://")) for text in texts
    )


def _texts_in(node: ast.expr) -> list[str]:
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def _downloads(call: ast.Call, path: tuple[str, ...]) -> bool:
    """True for `download=True`, and for pretrained weights of torchvision's models."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if any(
        isinstance(value, ast.Constant) and value.value is True
        for value in (keywords.get("download"), keywords.get("pretrained"))
    ):
        return True
    weights = keywords.get("weights")
    return (
        "models" in path
        and weights is not None
        and not (isinstance(weights, ast.Constant) and weights.value is None)
    )


def _outside_needs(tree: ast.Module) -> list[Need]:
    """Needs of command-line arguments, a launcher, or input."""
    nodes = nodes_of(tree)
    calls = [(node, dotted_name(node.func)) for node in nodes if isinstance(node, ast.Call)]
    counts_arguments = any(
        path == ("len",) and node.args and dotted_name(node.args[0]) == ("sys", "argv")
        for node, path in calls
    )
    has_own_arguments = any(
        path[-1:] in {("parse_args",), ("parse_known_args",)} and node.args for node, path in calls
    )
    own, variables = bound_names(tree), _variables_set(tree)
    needs = _standard_input(tree)
    for node, path in calls:
        if (path == ("input",) and "input" not in own) or path in _INPUT_CALLS:
            needs.append(Need(kind=NeedKind.INPUT, line=node.lineno))
        elif (path[-1:] == ("add_argument",) and not has_own_arguments and _is_required(node)) or path == (
            "click",
            "argument",
        ):
            needs.append(Need(kind=NeedKind.ARGUMENTS, line=node.lineno))
        elif path[-1:] == ("init_process_group",) and _is_launched(node, tree):
            needs.append(Need(kind=NeedKind.ARGUMENTS, name="launcher", line=node.lineno))
    for subscript in nodes:
        if (
            not isinstance(subscript, ast.Subscript)
            or not isinstance(subscript.ctx, ast.Load)
            or not isinstance(subscript.slice, ast.Constant)
        ):
            continue
        index, path = subscript.slice.value, dotted_name(subscript.value)
        of_arguments = (
            path == ("sys", "argv") and isinstance(index, int) and index > 0 and not counts_arguments
        )
        of_launcher = path == ("os", "environ") and index in _LAUNCHER_VARIABLES and index not in variables
        if of_arguments or of_launcher:
            needs.append(Need(kind=NeedKind.ARGUMENTS, line=subscript.lineno))
    return needs


def _standard_input(tree: ast.Module) -> list[Need]:
    """Needs of standard input, unless the script replaces it."""
    nodes = nodes_of(tree)
    inputs = [
        node for node in nodes if isinstance(node, ast.Attribute) and dotted_name(node) == ("sys", "stdin")
    ]
    if any(isinstance(node.ctx, ast.Store) for node in inputs):
        return []
    about = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr in _HARMLESS_INPUT_ATTRIBUTES
    }
    return [Need(kind=NeedKind.INPUT, line=node.lineno) for node in inputs if id(node) not in about]


def _is_launched(call: ast.Call, tree: ast.Module) -> bool:
    """True if a process group needs a launcher such as torchrun to set its ranks."""
    keywords = {keyword.arg for keyword in call.keywords}
    texts = {
        node.value
        for node in nodes_of(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return (
        not keywords & {"rank", "world_size", "init_method", "store", None}
        and len(call.args) < 2
        and not texts & _RANK_VARIABLES
    )


def _variables_set(tree: ast.Module) -> set[object]:
    """The environment variables that the script sets itself."""
    return {
        node.slice.value
        for node in nodes_of(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.slice, ast.Constant)
        and dotted_name(node.value) == ("os", "environ")
    }


def _is_required(node: ast.Call) -> bool:
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    first = node.args[0] if node.args else None
    positional = (
        isinstance(first, ast.Constant) and isinstance(first.value, str) and not first.value.startswith("-")
    )
    if positional:
        nargs = keywords.get("nargs")
        return "default" not in keywords and not (
            isinstance(nargs, ast.Constant) and nargs.value in {"?", "*"}
        )
    required = keywords.get("required")
    return isinstance(required, ast.Constant) and required.value is True
