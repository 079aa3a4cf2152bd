"""Finds the package that a report is about. Versions in the report are its versions."""

from __future__ import annotations

import ast
import re
import sys

from app.intake.claim.claims import Claim, Where
from app.intake.code.names import undefined_names
from app.intake.code.syntax import nodes_of, tree_of
from app.intake.words.distributions import DISTRIBUTIONS, WELL_KNOWN

PYTHON = "python"
# Names in titles that are no names of distributions.
_SHORT_NAMES = {
    **{name.casefold(): distribution for name, distribution in DISTRIBUTIONS.items()},
    "np": "numpy",
    "pd": "pandas",
    "pytorch": "torch",
    "jnp": "jax",
    "cpython": PYTHON,
    "python": PYTHON,
    "plt": "matplotlib",
}
_WORD = re.compile(r"(?<![\w.-])[A-Za-z][\w-]{1,30}(?=[.\s:`'\"()\]/,-]|$)")
_MOST_TITLE = 300
# These packages only stand beside the one that a report is about.
_TOOLS = {"pytest", "tqdm", "matplotlib", "setuptools", "psutil", "python-dotenv"}


def package_named(word: str) -> str | None:
    """The distribution that a word names; None if it names none that is well known."""
    name = word.casefold()
    name = _SHORT_NAMES.get(name, name)
    return name if name == PYTHON or name in WELL_KNOWN else None


def subject_of(title: str, main: str) -> str | None:
    """The package whose fault is claimed: by the title, else by the imports of the main script.

    Python if the script imports the standard library only. None if nothing says it.
    """
    imported = _imported_packages(main)
    named = [name for match in _WORD.finditer(title[:_MOST_TITLE]) if (name := package_named(match[0]))]
    both = [name for name in named if name in imported]
    # An import that nobody knows may be misspelt, or a module of the reporter.
    is_unknown = bool(named) and not any(map(package_named, imported))
    if both or not imported or is_unknown:
        return next(iter(both or named), None)
    packages = [name for name in imported if name not in _TOOLS] or imported
    if "torch" in packages and len(packages) > 1:
        # numpy often only makes the data of a report about torch.
        return next((name for name in packages if name not in {"torch", "numpy"}), "torch")
    return packages[0]


def _imported_packages(script: str) -> list[str]:
    """The distributions that a script imports; Python if it uses the standard library only."""
    tree = tree_of(script) if script.strip() else None
    if tree is None:
        return []
    roots: dict[str, None] = {}
    for node in nodes_of(tree):
        names = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom) and node.module and not node.level
            else []
        )
        roots |= {name.partition(".")[0]: None for name in names}
    packages = [DISTRIBUTIONS.get(root, root) for root in roots if root not in sys.stdlib_module_names]
    # A script that defines all its names needs no import that somebody left out.
    return packages or ([PYTHON] if roots or not undefined_names(tree) else [])


def about(subject: str | None, claim: Claim) -> Claim:
    """The claim with its subject. A version without a package is a version of the subject."""
    if subject in {None, "torch"}:
        return claim.model_copy(update={"subject": subject})
    checks = tuple(
        check.model_copy(update={"where": _of_subject(check.where, subject)})
        if check.where.version
        else check
        for check in claim.checks
    )
    return claim.model_copy(update={"checks": checks, "subject": subject})


def _of_subject(where: Where, subject: str) -> Where:
    if where.package or (where.version or "").startswith("python"):
        return where
    return where.model_copy(
        update={"version": f"python {where.version}"} if subject == PYTHON else {"package": subject}
    )
