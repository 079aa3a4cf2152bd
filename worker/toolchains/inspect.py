"""Reads the content of an environment from its files, without executing any of it."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import mmap
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from worker.contract import ToolchainFacts

# MKL inside libtorch itself (PyPI's builds), or beside it (conda's).
_MKL_MARKS = (b"mkl_serv_cpu_detect", b"libmkl_")
# `torch.cuda.get_arch_list()` returns a constant of this form in the library.
_KERNELS = re.compile(rb"(?<=\0)(?:sm|compute)_\d{2,3}[af]?(?: (?:sm|compute)_\d{2,3}[af]?)*(?=\0)")


def read_facts(name: str, site_packages: Sequence[Path], *, detail: str = "") -> ToolchainFacts:
    """The packages and torch's build. The first folder with a package wins, as on sys.path."""
    packages: dict[str, str] = {}
    for folder in site_packages:
        for distribution in importlib.metadata.distributions(path=[str(folder)]):
            package = distribution.metadata["Name"]
            if package:
                packages.setdefault(re.sub(r"[-_.]+", "-", str(package)).lower(), distribution.version)
    torch = next(
        (folder / "torch" for folder in site_packages if (folder / "torch" / "version.py").is_file()), None
    )
    version = _assignments(torch / "version.py") if torch else {}
    return ToolchainFacts(
        name=name,
        state="ready",
        packages=dict(sorted(packages.items())),
        torch=version.get("__version__") or packages.get("torch"),
        cuda_build=version.get("cuda"),
        kernels=_kernels(torch) if torch and version.get("cuda") else [],
        mkl=torch is not None and _has_mkl(torch),
        detail=detail,
    )


def stamp(site_packages: Sequence[Path]) -> str:
    """A text that changes when a package is installed, removed or replaced."""
    digest = hashlib.sha256()
    for folder in site_packages:
        for entry in sorted(folder.glob("*.dist-info")):
            digest.update(f"{entry}\0{entry.stat().st_mtime_ns}\0".encode())
    return digest.hexdigest()[:16]


def _assignments(path: Path) -> dict[str, str]:
    values = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(value))):
                values[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(value))):
                values[name] = value
            case _:
                pass
    return values


def _has_mkl(torch: Path) -> bool:
    with _content(torch / "lib" / "libtorch_cpu.so") as content:
        return any(content.find(mark) >= 0 for mark in _MKL_MARKS)


def _kernels(torch: Path) -> list[str]:
    """The architectures that torch has kernels for: the longest such list in its library, or none."""
    with _content(torch / "lib" / "libtorch_python.so") as content:
        longest = max((match[0].decode() for match in _KERNELS.finditer(content)), key=len, default="")
    return longest.split()


@contextmanager
def _content(library: Path) -> Iterator[mmap.mmap | bytes]:
    if not library.is_file() or library.stat().st_size == 0:
        yield b""
        return
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        yield content
