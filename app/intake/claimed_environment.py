"""The environment a reporter names, under the names a captured one has, so that the two compare field by field."""

from __future__ import annotations

import re

from worker.contract import Environment

# One pattern a field; the first hit wins. Each reads one line, and takes what `torch.utils.collect_env` prints or people type.
_FIELDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(rf"^[ \t>*-]*{pattern}", re.IGNORECASE | re.MULTILINE))
    for name, pattern in (
        ("torch.version", r"(?:py)?torch(?:\s+version)?(?:\s*\(e\.g\.,[^)\n]{0,20}\))?\s*[:=]{1,2}\s*(\d+\.\d+[\w.+]*)"),
        ("torch.version", r"(?:py)?torch\s+v?(\d+\.\d+[\w.+]*)\s*$"),
        ("cuda.build", r"CUDA used to build PyTorch\s*:\s*(\d[\w.]*)"),
        ("os.name", r"(?:OS|operating system)(?:\s*\(e\.g\.,[^)\n]{0,20}\))?\s*[:：]\s*([^\n]{2,80}?)\s*$"),
        ("python.version", r"python(?:\s+version)?\s*[:=]\s*(\d+\.\d+(?:\.\d+)?)"),
        ("gpu.model", r"GPU models and configuration\s*[:：]\s*(?:GPU 0:\s*)?([^\n]{2,80}?)\s*$"),
        ("gpu.model", r"GPU 0:\s*([^\n(]{2,80}?)\s*(?:\(|$)"),
        ("driver", r"Nvidia driver version\s*:\s*(\d[\w.]*)"),
        ("package.numpy", r"(?:\[pip3?\]\s*)?numpy\s*={1,2}\s*(\d[\w.]*)"),
        ("cpu.model", r"Model name\s*:\s*([^\n]{2,80}?)\s*$"),
    )
)


def claimed_environment(text: str) -> Environment:
    """What the report says of where it happened; nothing is inferred from its silence."""
    found: Environment = {}
    for name, pattern in _FIELDS:
        hit = pattern.search(text)
        if hit is not None and name not in found and "could not collect" not in hit[1].lower():
            found[name] = hit[1].strip()
    return found
