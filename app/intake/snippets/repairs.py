"""Adds imports that a fragment lacks before it can run. Every repair has a name.

A repair never removes the claimed error.
"""

from __future__ import annotations

import ast

from app.intake.code.names import bound_names, has_star_import, used_names
from app.intake.code.syntax import nodes_of, parses
from app.intake.reading import Repair

# Names that reports use without an import, and the imports that they mean.
USUAL_IMPORTS = {
    "torch": "import torch",
    "np": "import numpy as np",
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "numpy": "import numpy",
    "torchvision": "import torchvision",
    "dist": "import torch.distributed as dist",
    "mp": "import torch.multiprocessing as mp",
    "os": "import os",
    "sys": "import sys",
    "math": "import math",
    "time": "import time",
    "copy": "import copy",
    "random": "import random",
    "pd": "import pandas as pd",
    "pandas": "import pandas",
    "scipy": "import scipy",
    "sympy": "import sympy",
    "nx": "import networkx as nx",
    "plt": "import matplotlib.pyplot as plt",
    "json": "import json",
    "re": "import re",
    "itertools": "import itertools",
    "functools": "import functools",
    "collections": "import collections",
    "warnings": "import warnings",
    "threading": "import threading",
    "asyncio": "import asyncio",
    "pickle": "import pickle",
    "gc": "import gc",
    "inspect": "import inspect",
}
_PACKAGES = {"torch", "np", "numpy", "torchvision", "pd", "pandas", "scipy", "sympy", "nx"}
# These names mean the usual module only beside torch.
_ONLY_BESIDE_TORCH = {"nn", "F", "dist", "mp"}
# These are names of values, too.
_BUILTIN_LOOKALIKES = {
    *(
        "copy",
        "time",
        "random",
        "dist",
        "mp",
        "F",
        "plt",
        "json",
        "re",
        "itertools",
        "functools",
        "collections",
    ),
    *("warnings", "threading", "asyncio", "pickle", "gc", "inspect", "nx", "pd"),
}


def missing_imports(text: str, tree: ast.Module) -> tuple[str, tuple[Repair, ...]]:
    """Add the usual imports that a fragment lacks.

    They stand on the first line, so that lines keep their numbers.
    """
    if has_star_import(tree):
        return text, ()
    used_by_script, bound_by_script = used_names(tree), bound_names(tree)
    missing = [
        name
        for name in USUAL_IMPORTS
        if name in used_by_script and name not in bound_by_script and _is_module(name, tree)
    ]
    if "torch" not in used_by_script | bound_by_script:
        missing = [name for name in missing if name not in _ONLY_BESIDE_TORCH]
    if not missing or not _PACKAGES & (used_by_script | bound_by_script):
        return text, ()
    line = "; ".join(USUAL_IMPORTS[name] for name in missing)
    first, _, rest = text.partition("\n")
    result = f"{line}; {first}\n{rest}"
    if (
        not first.strip()
        or first.lstrip().startswith(("#", '"', "'"))
        or not parses(result)
        or "__future__" in text
    ):
        result = _before_first_statement(text, tree, line)
    return result, tuple(
        Repair(code="missing_import", detail=f"Added: {USUAL_IMPORTS[name]}", line=1) for name in missing
    )


def _is_module(name: str, tree: ast.Module) -> bool:
    """True if the name is used like a module, as in `math.pi`."""
    return name not in _BUILTIN_LOOKALIKES or any(
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
        for node in nodes_of(tree)
    )


def _before_first_statement(text: str, tree: ast.Module, line: str) -> str:
    """The text with a line of imports below its docstring and its imports from the future."""
    lines = text.split("\n")
    after = 0
    for at, statement in enumerate(tree.body):
        docstring = at == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (docstring or future):
            break
        after = statement.end_lineno or after
    return "\n".join([*lines[:after], line, *lines[after:]])
