"""Adds imports that a fragment lacks before it can run. Every repair has a name.

A repair never removes the claimed error.
"""

from __future__ import annotations

import ast

from app.intake.code.names import bound_names, has_star_import, used_names
from app.intake.code.syntax import nodes_of, parses
from app.intake.reading import Repair
from app.intake.snippets.shell_names import shell_imports

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
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "tf": "import tensorflow as tf",
    "xr": "import xarray as xr",
    "yaml": "import yaml",
    "csv": "import csv",
    "struct": "import struct",
    "logging": "import logging",
    "decimal": "import decimal",
    "fractions": "import fractions",
    "tempfile": "import tempfile",
    "dataclasses": "import dataclasses",
    "weakref": "import weakref",
    "ctypes": "import ctypes",
    "deepcopy": "from copy import deepcopy",
    "Path": "from pathlib import Path",
    "defaultdict": "from collections import defaultdict",
    "OrderedDict": "from collections import OrderedDict",
    "namedtuple": "from collections import namedtuple",
    "lru_cache": "from functools import lru_cache",
    "dataclass": "from dataclasses import dataclass",
    "Decimal": "from decimal import Decimal",
    "Fraction": "from fractions import Fraction",
    "timedelta": "from datetime import timedelta",
    "ThreadPoolExecutor": "from concurrent.futures import ThreadPoolExecutor",
    "ProcessPoolExecutor": "from concurrent.futures import ProcessPoolExecutor",
    "StringIO": "from io import StringIO",
    "BytesIO": "from io import BytesIO",
    "Enum": "from enum import Enum",
    "Optional": "from typing import Optional",
    "NamedTuple": "from typing import NamedTuple",
    "TypedDict": "from typing import TypedDict",
    "DataFrame": "from pandas import DataFrame",
    "BaseModel": "from pydantic import BaseModel",
    "rearrange": "from einops import rearrange",
    "parse_shape": "from einops import parse_shape",
    "TensorDataset": "from torch.utils.data import TensorDataset",
}
_PACKAGES = {
    *(
        "torch",
        "np",
        "numpy",
        "torchvision",
        "pd",
        "pandas",
        "scipy",
        "sympy",
        "nx",
        "jax",
        "jnp",
        "tf",
        "xr",
    ),
    *("DataFrame", "BaseModel", "Decimal", "Fraction", "dataclass", "Path", "deepcopy", "Enum", "NamedTuple"),
    *("TypedDict", "OrderedDict", "defaultdict", "namedtuple", "rearrange", "parse_shape"),
}
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
    *(
        "jax",
        "tf",
        "xr",
        "yaml",
        "csv",
        "struct",
        "logging",
        "decimal",
        "fractions",
        "tempfile",
        "dataclasses",
    ),
    *("weakref", "ctypes"),
}


def missing_imports(text: str, tree: ast.Module) -> tuple[str, tuple[Repair, ...]]:
    """Add the usual imports that a fragment lacks.

    They stand on the first line, so that lines keep their numbers.
    """
    if has_star_import(tree):
        return text, ()
    if (shell := shell_imports(text, tree)) is not None:
        return _with_line(text, tree, shell), (
            Repair(code="missing_import", detail=f"Added: {shell}", line=1),
        )
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
    return _with_line(text, tree, line), tuple(
        Repair(code="missing_import", detail=f"Added: {USUAL_IMPORTS[name]}", line=1) for name in missing
    )


def _with_line(text: str, tree: ast.Module, line: str) -> str:
    """The text with a line of imports on its first line, or below its docstring if they can't stand there."""
    first, _, rest = text.partition("\n")
    result = f"{line}; {first}\n{rest}"
    if (
        not first.strip()
        or first.lstrip().startswith(("#", '"', "'"))
        or not parses(result)
        or "__future__" in text
    ):
        result = _before_first_statement(text, tree, line)
    return result


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
