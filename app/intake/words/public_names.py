"""Finds the import that an undefined name means, by the public names of well-known modules.

`public_names.txt` has a line for each module. `bench/reading/public_names.py` writes it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path

from app.intake.words.distributions import DISTRIBUTIONS

_STANDARD = "python"
_FILE = Path(__file__).with_name("public_names.txt")
# A name of two words that only these have needs no other hint. A report must name the other packages: their
# names are those of better known packages, too (`DataFrame`).
_WELL_KNOWN = frozenset(
    (
        *(
            "torch",
            "numpy",
            "pandas",
            "scipy",
            "scikit-learn",
            "sympy",
            "networkx",
            "pillow",
            "jax",
            "einops",
        ),
        *("pydantic", "attrs", "xarray", "matplotlib", "numba", "statsmodels", "python-dateutil", "babel"),
        *("beautifulsoup4", "lxml"),
    )
)
_LEAST_TOGETHER = 3
# The file has classes and functions.
_CONSTANTS_OF_SYMPY = frozenset({"I", "E", "oo", "zoo", "pi"})
_TWO_WORDS = re.compile(r"[A-Z]+[a-z0-9]+[A-Z]\w*$|[a-z0-9]+_\w+$")


def import_of(name: str, packages: Collection[str]) -> str | None:
    """The import statement of a public name, as `from numpy.testing import assert_allclose`.

    Looked for in `packages`, by the names of their distributions, and then in the standard library. A
    name of two words that only one package has needs no such hint. None if two packages have the
    name.
    """
    places = _modules_by_name().get(name, ())
    own = [module for module in places if _package_of(module) in packages]
    modules = own or [module for module in places if _package_of(module) == _STANDARD]
    if not modules and _TWO_WORDS.match(name):
        modules = [module for module in places if _package_of(module) in _WELL_KNOWN]
    roots = {_package_of(module) for module in modules}
    return f"from {modules[0]} import {name}" if len(roots) == 1 else None


def import_of_all(names: Collection[str]) -> str | None:
    """The import of several names that only one well-known package has together, from its root.

    `integrate`, `exp` and `I` are names of sympy, though `exp` is one of many others.
    """
    if len(names) < _LEAST_TOGETHER:
        return None
    roots = [
        {module for module in _modules_by_name().get(name, ()) if module in _WELL_KNOWN}
        | ({"sympy"} if name in _CONSTANTS_OF_SYMPY else set())
        for name in names
    ]
    together = set.intersection(*roots)
    return f"from {together.pop()} import {', '.join(sorted(names))}" if len(together) == 1 else None


def import_of_module(name: str, attributes: Collection[str], packages: Collection[str]) -> str | None:
    """The import of a module that lacks one: `metrics`, of which `roc_auc_score` is used, is of sklearn.

    None unless all `attributes` are public names of a module that only one package has, or of one of
    `packages`.
    """
    places = [
        {module for module in _modules_by_name().get(attribute, ()) if module.endswith(f".{name}")}
        for attribute in attributes
    ]
    modules = set.intersection(*places) if places else set()
    own = {module for module in modules if _package_of(module) in packages}
    (module, *others) = sorted(own or modules) or [""]
    return None if others or not module else f"from {module.rpartition('.')[0]} import {name}"


def is_public_module(path: str) -> bool:
    """Whether this is the whole name of one of the modules of the file."""
    return path in _modules()


def _package_of(module: str) -> str:
    root = module.partition(".")[0]
    return _STANDARD if root in sys.stdlib_module_names else DISTRIBUTIONS.get(root, root)


@cache
def _modules() -> frozenset[str]:
    return frozenset(module for modules in _modules_by_name().values() for module in modules)


@cache
def _modules_by_name() -> dict[str, tuple[str, ...]]:
    """The modules that have each name, in the order of the file."""
    modules: dict[str, tuple[str, ...]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        module, _, names = line.partition(": ")
        for name in names.split():
            modules[name] = (*modules.get(name, ()), module)
    return modules
