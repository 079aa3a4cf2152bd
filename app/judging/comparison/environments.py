"""Environments: their digest, and which fields of two of them differ, likeliest culprit first."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

from worker.contract import Environment

# Where two results differ, these fields explain it most often; the first that fits a field's name decides its
# place.
_CULPRITS = (
    "blas.path",
    "blas.cnr",
    "torch.version",
    "torch.cpu_capability",
    "onednn.isa",
    "gpu.0.model",
    "gpu.",
    "cuda.",
    "cudnn.",
    "tf32.",
    "precision.",
    "float32_matmul_precision",
    "deterministic",
    "threads.",
    "default.",
    "cpu.model",
    "cpu.",
    "torch.",
    "blas.",
    "python.version",
    "package.",
    "os.",
)


def environment_digest(environment: Environment) -> str:
    """`sha256:` and the SHA-256 of the environment as canonical JSON."""
    text = json.dumps(environment, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def differing_fields(one: Environment, other: Environment) -> list[str]:
    """The names of the fields that differ, likeliest culprit first."""
    names = {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
    return sorted(names, key=lambda name: (_rank(name), name))


@lru_cache(4096)
def _rank(name: str) -> int:
    return next((place for place, begin in enumerate(_CULPRITS) if name.startswith(begin)), len(_CULPRITS))
