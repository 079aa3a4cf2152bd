"""Parts of a script that run only with a GPU, found by reading its code.

Without a GPU such a part is skipped, so an attempt that does not show the claim is no evidence against it.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from app.intake.code.syntax import dotted_name, nodes_of, tree_of
from app.intake.reading import NeedKind, Script
from app.judging.check.reach import NO_GPU, PATH_NOT_TAKEN, uses_gpu
from app.targets.target import Target
from worker.contract import Device, Outcome, Reason, Result

# Calls that only prepare the use of a GPU or print about it.
_PREPARING = {
    "print",
    "cuda",
    "to",
    "manual_seed",
    "manual_seed_all",
    "append",
    "info",
    "set_default_device",
    "set_default_tensor_type",
}


def skipped_gpu_part(result: Result, script: Script, target: Target) -> Reason | None:
    """Why an attempt without a GPU may not have reached the claim's point; None if it skipped nothing."""
    if target.device is not Device.CPU or uses_gpu(result):
        return None
    if any(need.kind is NeedKind.GPU for need in script.needs):
        return NO_GPU
    if result.outcome in {Outcome.COMPLETED, Outcome.EXITED} and has_part_for_gpu(script.script):
        return PATH_NOT_TAKEN.model_copy(update={"detail": "A part of the script runs only with a GPU."})
    return None


@lru_cache(maxsize=256)
def has_part_for_gpu(text: str) -> bool:
    """Whether the script has an `if torch.cuda.is_available()` without `else` that does more than prepare."""
    if "cuda" not in text:
        return False
    tree = tree_of(text)
    return tree is not None and any(_is_for_gpu(node) for node in nodes_of(tree))


def _is_for_gpu(node: ast.AST) -> bool:
    if not isinstance(node, ast.If) or node.orelse or isinstance(node.test, ast.UnaryOp):
        return False
    asks = any(
        isinstance(part, ast.Call) and dotted_name(part.func)[-2:] in _ASKING for part in ast.walk(node.test)
    )
    return asks and not all(map(_only_prepares, node.body))


_ASKING = {("cuda", "is_available"), ("cuda", "device_count")}


def _only_prepares(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Import | ast.ImportFrom | ast.Pass):
        return True
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    path = dotted_name(node.value.func)
    return path[:2] in {("torch", "cuda"), ("torch", "backends")} or path[-1:] in {
        (name,) for name in _PREPARING
    }
