"""The number of GPUs that a script needs, by static reading.

A script that checks for a GPU and works without one needs none.
"""

from __future__ import annotations

import ast
import re
import sys

from app.intake.code.syntax import children_of, dotted_name, nodes_of
from app.intake.reading import Need, NeedKind

_CUDA_DEVICE = re.compile(r"cuda(?::(\d{1,3}))?")
# These calls of torch.cuda do not fail without a GPU.
_HARMLESS = {
    "is_available",
    "device_count",
    "manual_seed",
    "manual_seed_all",
    "is_initialized",
    "empty_cache",
    "seed",
    "seed_all",
    "is_bf16_supported",
}
_GPU_PACKAGES = {"cupy", "pycuda", "cudf", "tensorrt", "vllm", "flash_attn"}
_ONE_GPU_CALLS = {
    "set_device",
    "device",
    "get_device_name",
    "get_device_properties",
    "get_device_capability",
    "synchronize",
    "current_stream",
    "memory_allocated",
    "mem_get_info",
    "max_memory_allocated",
}
_ENDING_CALLS = {"exit", "quit", "_exit", "abort", "skip"}
MOST_GPUS = 16


def gpu_needs(tree: ast.Module) -> list[Need]:
    """Uses of a GPU that no check of the script guards. `count` is the number of GPUs that each needs."""
    if not _imports_a_package(tree):
        return []
    finder = _Finder(_availability_names(tree))
    finder.look(tree)
    needs = finder.found
    ranks = _ranks(tree)
    if needs and ranks > 1:
        needs.append(needs[0].model_copy(update={"count": ranks}))
    return needs


def _imports_a_package(tree: ast.Module) -> bool:
    """False if the script imports standard modules only, so that it uses no GPU.

    True without any import: the script may be a fragment.
    """
    roots = {
        name.partition(".")[0]
        for node in nodes_of(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        )
    }
    return not roots or not roots <= sys.stdlib_module_names


def _is_availability_check(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and dotted_name(node.func)[-2:] in {
        ("cuda", "is_available"),
        ("cuda", "device_count"),
    }


def _availability_names(tree: ast.Module) -> set[str]:
    """Names that hold the answer of `is_available()`: `use_cuda = torch.cuda.is_available()`."""
    return {
        target.id
        for node in nodes_of(tree)
        if isinstance(node, ast.Assign)
        and not isinstance(node.value, ast.IfExp)
        and any(_is_availability_check(part) for part in ast.walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }


class _Finder:
    """Walks a tree without recursion, so no nesting is too deep."""

    def __init__(self, availability: set[str]) -> None:
        self._availability = availability
        self.found: list[Need] = []

    def look(self, tree: ast.Module) -> None:
        open_nodes: list[ast.AST] = [tree]
        while open_nodes:
            open_nodes.extend(reversed(self._visit(open_nodes.pop())))

    def _visit(self, node: ast.AST) -> list[ast.AST]:
        """Record the need of this node, and return the nodes below that are still to be visited."""
        if isinstance(node, ast.IfExp | ast.BoolOp) and self._is_choice(
            node.test if isinstance(node, ast.IfExp) else node.values[0]
        ):
            return []
        if isinstance(node, ast.If) and self._is_choice(node.test):
            return self._visit_choice(node)
        if isinstance(node, ast.Assert) and self._is_choice(node.test):
            self._need(node, index=_required_gpus(node.test) - 1)
            return []
        if isinstance(node, ast.Compare):
            # `if device == "cuda"` is only a check.
            return [part for part in (node.left, *node.comparators) if not isinstance(part, ast.Constant)]
        if isinstance(node, ast.Call):
            return self._visit_call(node)
        self._visit_word(node)
        return children_of(node)

    def _visit_word(self, node: ast.AST) -> None:
        """Record packages that need a GPU, and texts that name one."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            )
            if any(name.partition(".")[0] in _GPU_PACKAGES for name in names):
                self._need(node)
        elif isinstance(node, ast.Constant):
            self._visit_text(node, node.value)
        elif isinstance(node, ast.JoinedStr):
            first = node.values[0] if node.values else None
            if isinstance(first, ast.Constant) and first.value == "cuda:":
                self._need(node)

    def _visit_text(self, node: ast.Constant, value: object) -> None:
        match = _CUDA_DEVICE.fullmatch(value) if isinstance(value, str) else None
        if match or value == "nccl":
            self._need(node, index=int(match[1] or 0) if match else 0)

    def _visit_choice(self, node: ast.If) -> list[ast.AST]:
        """`if torch.cuda.is_available(): …`: only the branch without a GPU counts.

        If that branch ends the script, a GPU is needed.
        """
        negative = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
        without = node.body if negative else node.orelse
        too_few = isinstance(node.test, ast.Compare) and isinstance(
            node.test.ops[0], ast.Lt | ast.LtE | ast.Eq
        )
        if any(_ends(part) for part in (node.body if too_few else without)):
            self._need(node, index=_required_gpus(node.test) - 1)
        return [*(node.orelse if too_few else without)]

    def _visit_call(self, node: ast.Call) -> list[ast.AST]:
        path = dotted_name(node.func)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        first = node.args[0] if node.args else None
        number = _integer(first)
        device = next((_integer(keyword.value) for keyword in node.keywords if keyword.arg == "device"), None)
        if name == "cuda" and path[:2] != ("torch", "backends"):
            self._need(node, index=number or device or 0)
        elif path[:2] == ("torch", "cuda") and name not in _HARMLESS and "amp" not in path:
            self._need(node, index=(number if name in _ONE_GPU_CALLS else None) or device or 0)
        elif device is not None and (path[:1] == ("torch",) or name == "to"):
            # A bare number as a device is a GPU.
            self._need(node, index=device)
        elif name == "to" and number is not None and len(node.args) == 1:
            self._need(node, index=number)
        elif path[-1:] == ("device",) and isinstance(first, ast.Constant) and first.value == "cuda":
            second = node.args[1] if len(node.args) > 1 else None
            self._need(
                node,
                index=second.value if isinstance(second, ast.Constant) and type(second.value) is int else 0,
            )
        for keyword in node.keywords:
            if (
                keyword.arg == "device_ids"
                and isinstance(keyword.value, ast.List)
                and len(keyword.value.elts) > 1
            ):
                self._need(node, index=max(_integer(part) or 0 for part in keyword.value.elts))
        return children_of(node)

    def _is_choice(self, test: ast.expr) -> bool:
        return any(
            _is_availability_check(part) or (isinstance(part, ast.Name) and part.id in self._availability)
            for part in ast.walk(test)
        )

    def _need(self, node: ast.AST, *, index: int = 0) -> None:
        self.found.append(
            Need(
                kind=NeedKind.GPU,
                count=min(max(index, 0), MOST_GPUS - 1) + 1,
                line=getattr(node, "lineno", None),
            )
        )


def _integer(node: ast.AST | None) -> int | None:
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _required_gpus(test: ast.expr) -> int:
    """The number of GPUs that a check requires: 2 for `device_count() >= 2` and `device_count() < 2`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not _is_availability_check(test.left):
        return 1
    number = _integer(test.comparators[0])
    if number is None:
        return 1
    return max(1, number + isinstance(test.ops[0], ast.Gt | ast.LtE))


def _ends(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise | ast.Return):
        return True
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and dotted_name(call.func)[-1:] in {(word,) for word in _ENDING_CALLS}


def _ranks(tree: ast.Module) -> int:
    """The number of processes that take a GPU each: a literal `nprocs` or `world_size`, or a name for one."""
    numbers = {
        target.id: node.value.value
        for node in nodes_of(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and type(node.value.value) is int
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    counts = [1]
    for node in nodes_of(tree):
        if isinstance(node, ast.keyword) and node.arg in {"nprocs", "world_size", "num_processes"}:
            value = (
                node.value.value
                if isinstance(node.value, ast.Constant)
                else numbers.get(getattr(node.value, "id", ""))
            )
            counts += [value] if type(value) is int else []
    return min(max(counts), MOST_GPUS)
