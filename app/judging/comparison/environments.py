"""The digest of an environment, and the fields in which two environments differ."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

from worker.contract import Environment

# Prefixes of fields, ordered by how often they explain a different result. The first match gives a field its
# rank.
_LIKELY_CAUSES = (
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
    """The names of the fields that differ, the most likely cause first."""
    names = {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
    return sorted(names, key=lambda name: (_rank(name), name))


@lru_cache(4096)
def _rank(name: str) -> int:
    return next(
        (place for place, begin in enumerate(_LIKELY_CAUSES) if name.startswith(begin)), len(_LIKELY_CAUSES)
    )
