"""Adds imports that a fragment lacks before it can run. Every repair has a name.

A repair never removes the claimed error.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice

from app.intake.claim.subject import package_named
from app.intake.code.names import bound_names, has_star_import, unbound_names, used_names
from app.intake.code.syntax import nodes_of, parses
from app.intake.reading import Repair
from app.intake.sessions.shell_names import shell_imports
from app.intake.snippets.usual_objects import usual_objects, with_submodules
from app.intake.words.distributions import DISTRIBUTIONS, KNOWN_MODULES
from app.intake.words.public_names import import_of, import_of_all, import_of_module

_MOST_NAMES = 40
_ALIKE = 0.85
# `humanize 4.9.0`, `Humanize: 4.9.0`, `lark==1.1`, `bitstring version v4.0`, `mpmath version: 1.2`.
_WITH_VERSION = re.compile(
    r"(?<![\w.-])(?P<name>[A-Za-z][\w-]{1,30})"
    r"(?:[ \t]{0,3}(?:version|versión|versão|versione|версия|版本|的版本"
    r"|バージョン|버전))?(?:[ \t]{0,3}(?:==|:|=|：))?[ \t]{0,20}v?\d{1,4}\.\d{1,4}(?![\w%])",
    re.IGNORECASE,
)
# `dateutil.rrule` between backticks, and a file of a package in a traceback.
_SUBMODULE = re.compile(
    r"`(?P<path>[a-z]\w{1,40}(?:\.[a-z]\w{1,40}){1,3})`"
    r"|site-packages[\\/](?P<file>[a-z]\w{1,40}(?:[\\/][a-z]\w{1,40}){1,3})\.py\b"
)
_IN_TRACEBACK = re.compile(r"(?:site|dist)-packages[\\/](?P<package>[a-z]\w{1,40})(?=[\\/]\w)")
NO_SUBMODULES: Mapping[str, str] = {}
_NO_MODULES = frozenset(
    {"version", "python", "ubuntu", "debian", "windows", "macos", "linux", "cuda", "about"}
)
_MOST_TEXT = 200_000

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
    "cmath": "import cmath",
    "heapq": "import heapq",
    "bisect": "import bisect",
    "calendar": "import calendar",
    "textwrap": "import textwrap",
    "statistics": "import statistics",
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
    "sm": "import statsmodels.api as sm",
    "smf": "import statsmodels.formula.api as smf",
    "sns": "import seaborn as sns",
    "pl": "import polars as pl",
    "pa": "import pyarrow as pa",
    "pc": "import pyarrow.compute as pc",
    "dd": "import dask.dataframe as dd",
    "da": "import dask.array as da",
    "gpd": "import geopandas as gpd",
    "nb": "import numba as nb",
    "npg": "import numpy_groupies as npg",
    "lax": "from jax import lax",
    "mpl": "import matplotlib as mpl",
    "mcolors": "import matplotlib.colors as mcolors",
    "stats": "from scipy import stats",
    "ndimage": "from scipy import ndimage",
    "dt": "import datetime as dt",
    "it": "import itertools as it",
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


def names_with_versions(text: str) -> frozenset[str]:
    """The words of a report that stand before a version, and the packages in its tracebacks, as modules."""
    names = [match["name"].lower() for match in _WITH_VERSION.finditer(text[:_MOST_TEXT])]
    names += [match["package"] for match in _IN_TRACEBACK.finditer(text[:_MOST_TEXT])]
    return frozenset(name.replace("-", "_") for name in names) - _NO_MODULES


def submodules_named(text: str) -> dict[str, str]:
    """The imports of modules of packages that a report names in words or in a traceback, by their names.

    `dateutil.rrule` and `site-packages/dateutil/rrule.py` are `from dateutil import rrule`.
    """
    imports: dict[str, str] = {}
    for match in _SUBMODULE.finditer(text[:_MOST_TEXT]):
        path = (match["path"] or match["file"]).replace("\\", "/").replace("/", ".")
        package, _, name = path.rpartition(".")
        if match["file"] or package.partition(".")[0] in KNOWN_MODULES:
            imports.setdefault(name, f"from {package} import {name}")
    return imports


def missing_imports(
    text: str,
    tree: ast.Module,
    packages: Collection[str] = (),
    modules: Collection[str] = (),
    submodules: Mapping[str, str] = NO_SUBMODULES,
) -> tuple[str, tuple[Repair, ...]]:
    """Add the imports that a fragment lacks: usual modules, and public names of `packages`.

    They stand on the first line, so that lines keep their numbers. `packages` are those that the report is
    about, beside those that the script names. `modules` are names that it may use as modules, and
    `submodules` are the imports of such names.
    """
    if has_star_import(tree):
        return text, ()
    if (shell := shell_imports(text, tree)) is not None:
        return with_line(text, tree, shell), (
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
    if not _PACKAGES & (used_by_script | bound_by_script):
        missing = []
    statements = [USUAL_IMPORTS[name] for name in missing]
    known = {package for name in used_by_script | bound_by_script if (package := package_named(name))}
    named = {*modules, *submodules, *KNOWN_MODULES, *USUAL_IMPORTS} - _ONLY_BESIDE_TORCH
    only_modules = _only_modules(tree)
    own = [name for name in unbound_names(tree) if name in named and name in only_modules]
    own = [name for name in own if name not in missing]
    statements += [USUAL_IMPORTS.get(name, submodules.get(name, f"import {name}")) for name in own]
    statements = [with_submodules(each, each.removeprefix("import "), tree) for each in statements]
    about = (known | {*packages}, {DISTRIBUTIONS.get(name, name) for name in modules})
    objects = usual_objects(tree, unbound_names(tree), set().union(*about))
    statements += objects.values()
    statements += _imports_of_public_names(tree, bound_by_script | {*missing, *own, *objects}, about)
    if not statements:
        return text, ()
    return with_line(text, tree, "; ".join(statements)), tuple(
        Repair(code="missing_import", detail=f"Added: {statement}", line=1) for statement in statements
    )


def with_right_imports(text: str, tree: ast.Module) -> tuple[str, tuple[Repair, ...]]:
    """Spell imports as the script spells their use: `import tabualate` above `tabulate.tabulate(…)`.

    Only a module that the script never uses, beside a name that nothing binds, is taken for misspelt.
    """
    used, unbound = used_names(tree), sorted(_only_modules(tree).intersection(unbound_names(tree)))
    repairs: list[Repair] = []
    if not 0 < len(unbound) <= _MOST_NAMES:
        return text, ()
    unused = [
        statement
        for statement in tree.body
        if isinstance(statement, ast.Import)
        and len(statement.names) == 1
        and not statement.names[0].asname
        and not _is_known_or_used(statement.names[0].name, used)
    ]
    for statement in unused[:_MOST_NAMES]:
        name = statement.names[0].name
        near = get_close_matches(name, unbound, n=1, cutoff=_ALIKE)
        if not near:
            continue
        lines = text.split("\n")
        at = statement.lineno - 1
        lines[at] = re.sub(rf"\bimport\s+{re.escape(name)}\b", f"import {near[0]}", lines[at], count=1)
        text = "\n".join(lines)
        detail = f"Spelt the import of {near[0]} as the script spells its use."
        repairs.append(Repair(code="misspelt_import", detail=detail, line=statement.lineno))
    return text, tuple(repairs)


def _is_known_or_used(module: str, used: Collection[str]) -> bool:
    return module in KNOWN_MODULES or module in sys.stdlib_module_names or module in used


def _imports_of_public_names(
    tree: ast.Module, bound: Collection[str], packages: Sequence[Collection[str]]
) -> list[str]:
    """The imports of undefined names that a package offers: classes, and functions that are called.

    `packages`: those of the script and of the report's title, and then those that only have a version in it.
    """
    called = {
        node.func.id
        for node in nodes_of(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    decorators = {
        each.id
        for node in nodes_of(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for each in node.decorator_list
        if isinstance(each, ast.Name)
    }
    modules = {
        node.value.id
        for node in nodes_of(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    names = [name for name in unbound_names(tree) if name not in bound]
    module_imports = _imports_of_modules(tree, names, packages[0])
    names = [name for name in names if name not in module_imports]
    as_code = called | decorators | modules | _names_in_annotations(tree)
    used = [name for name in names if name[:1].isupper() or name in as_code]
    if not packages[0] and called & set(names) and (together := import_of_all(names)):
        return [*module_imports.values(), together]
    public = (next(filter(None, (import_of(name, each) for each in packages)), None) for name in used)
    return [*module_imports.values(), *islice(filter(None, public), _MOST_NAMES)]


def _imports_of_modules(
    tree: ast.Module, names: Collection[str], packages: Collection[str]
) -> dict[str, str]:
    """The imports of undefined names of which only attributes are used, by these names."""
    attributes: dict[str, set[str]] = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            attributes.setdefault(node.value.id, set()).add(node.attr)
    modules = [name for name in names if name in _only_modules(tree)]
    imports = {name: import_of_module(name, attributes[name], packages) for name in modules[:_MOST_NAMES]}
    return {name: statement for name, statement in imports.items() if statement}


def _names_in_annotations(tree: ast.Module) -> set[str]:
    annotations = [
        annotation
        for node in nodes_of(tree)
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if isinstance(annotation, ast.expr)
    ]
    return {
        node.id for annotation in annotations for node in ast.walk(annotation) if isinstance(node, ast.Name)
    }


def with_line(text: str, tree: ast.Module, line: str) -> str:
    """The text with a line of code on its first line, or below its docstring if they can't stand there."""
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


def _only_modules(tree: ast.Module) -> frozenset[str]:
    """The names of which the script uses nothing but attributes."""
    uses, of_attributes = Counter[str](), Counter[str]()
    for node in nodes_of(tree):
        if isinstance(node, ast.Name):
            uses[node.id] += 1
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            of_attributes[node.value.id] += 1
    return frozenset(name for name, count in of_attributes.items() if count == uses[name])


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
