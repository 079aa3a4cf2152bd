"""Claims about devices that nobody has: a script that falls back to the CPU is no evidence against them."""

from __future__ import annotations

import pytest
from gone_reports import verdict_of

FALLS_BACK = """# {title}

```python
import torch

name = "{name}" if torch.{module}.is_available() else "cpu"
x = torch.arange(6.0, device=name)
print({prints})
```

{shown}
"""


def falls_back(title: str, name: str, module: str, prints: str, shown: str) -> str:
    return FALLS_BACK.format(title=title, name=name, module=module, prints=prints, shown=shown)


SHOWN = "Output:\n\n```\n{}\n```\n\nExpected:\n\n```\n{}\n```"
DEVICE_IN_LINES = falls_back(
    "cumsum is off",
    "xpu",
    "xpu",
    '"running on", name); print("sum:", x.cumsum(0)[-1].item()',
    SHOWN.format("running on xpu\nsum: 14.0", "running on xpu\nsum: 15.0"),
)
DEVICE_OF_TENSOR = falls_back(
    "arange loses a value",
    "mps",
    "backends.mps",
    "x + 1); print(len(x)",
    SHOWN.format(
        "tensor([1., 2., 3., 4., 5., 5.], device='mps:0')\n6", "tensor([1., 2., 3., 4., 5., 6.])\n6"
    ),
)
DEVICE_IN_TITLE = falls_back(
    "[MPS] sum of a range comes out too small",
    "mps",
    "backends.mps",
    '"sum:", x.sum().item()',
    SHOWN.format("sum: 14.0", "sum: 15.0"),
)
LABEL_OF_DEVICE = falls_back(
    "distance of two devices",
    "mps",
    "backends.mps",
    '"max diff mps to cpu:", (x.cpu() - torch.arange(6.0)).abs().max().item()',
    "I get `max diff mps to cpu: 1.5`. Expected: `max diff mps to cpu: 0.0`.",
)
ANSWER_OF_DEVICE = falls_back(
    "sums are not close",
    "xpu",
    "xpu",
    '"xpu close to cpu:", torch.allclose(x.cpu(), torch.arange(6.0))',
    SHOWN.format("xpu close to cpu: False", "xpu close to cpu: True"),
)
OF_JAX = """# dot is too coarse

```python
import jax, jax.numpy as jnp

print("backend:", jax.default_backend())
print("square:", jnp.dot(jnp.array([1.001]), jnp.array([1.001])))
```

I get

```
backend: tpu
square: 1.0
```

Expected: `square: 1.002001`
"""
OF_RADEON = falls_back(
    "sum is off",
    "cuda",
    "cuda",
    'torch.cuda.get_device_name(0) if name == "cuda" else "no card"); print("sum:", x.sum().item()',
    SHOWN.format("AMD Radeon RX 7900 XTX\nsum: 14.0", "AMD Radeon RX 7900 XTX\nsum: 15.0"),
)


@pytest.mark.parametrize(
    ("report", "stdout"),
    [
        (DEVICE_IN_LINES, "running on cpu\nsum: 15.0\n"),
        (DEVICE_IN_LINES, "running on cpu\nsum: 13.0\n"),
        (DEVICE_OF_TENSOR, "tensor([1., 2., 3., 4., 5., 6.])\n6\n"),
        (DEVICE_IN_TITLE, "sum: 15.0\n"),
        (LABEL_OF_DEVICE, "max diff mps to cpu: 0.0\n"),
        (ANSWER_OF_DEVICE, "xpu close to cpu: True\n"),
        (OF_JAX, "backend: cpu\nsquare: 1.002001\n"),
        (OF_RADEON, "no card\nsum: 15.0\n"),
    ],
)
def test_what_another_device_shows_is_not_gone_where_the_script_fell_back(report: str, stdout: str) -> None:
    assert verdict_of(report, stdout) == "cannot_show"


ON_BOTH = falls_back(
    "sum of a range is too small (CPU and MPS)",
    "mps",
    "backends.mps",
    '"sum:", x.sum().item()',
    SHOWN.format("sum: 14.0", "sum: 15.0"),
)
ONLY_ASKS = """# sum is off

```python
import torch

print("mps:", torch.backends.mps.is_available())
print("sum:", torch.arange(6).sum().item())
```

Output:

```
mps: False
sum: 14
```

Expected:

```
mps: False
sum: 15
```
"""
SAYS_NO = """# sum is off

```python
import torch

print("MPS" if torch.backends.mps.is_available() else "no MPS available")
print("sum:", torch.arange(6).sum().item())
```

""" + SHOWN.format("no MPS available\nsum: 14", "no MPS available\nsum: 15")
OTHER_MEANING = """# norm is off

```python
import numpy as np

print("mps:", np.linalg.norm([3.0, 4.0]))
```

""" + SHOWN.format("mps: 6.0", "mps: 5.0")
NAMES_IT = """# sum is off

```python
import torch

print(torch.device("mps", 1), torch.arange(6).sum().item())
```

""" + SHOWN.format("mps:1 14", "mps:1 15")


@pytest.mark.parametrize(
    ("report", "gone", "there"),
    [
        (ON_BOTH, "sum: 15.0\n", "sum: 14.0\n"),
        (SAYS_NO, "no MPS available\nsum: 15\n", "no MPS available\nsum: 14\n"),
        (ONLY_ASKS, "mps: False\nsum: 15\n", "mps: False\nsum: 14\n"),
        (OTHER_MEANING, "mps: 5.0\n", "mps: 6.0\n"),
        (NAMES_IT, "mps:1 15\n", "mps:1 14\n"),
    ],
)
def test_a_device_that_is_only_named_is_no_place_of_the_bug(report: str, gone: str, there: str) -> None:
    assert verdict_of(report, gone) == "not_reproduced"
    assert verdict_of(report, there) == "reproduced"


def test_the_claimed_lines_count_wherever_they_are_seen() -> None:
    assert verdict_of(DEVICE_IN_TITLE, "sum: 14.0\n") == "reproduced"


BLOCKS = (
    "On the CPU:\n\n```\n{0}\n```\n\nOn MPS:\n\n```\n{1}\n```\n",
    "With device xpu:\n\n```\n{1}\n```\n\nWith cpu:\n\n```\n{0}\n```\n",
    "On a TPU I get\n\n```\n{1}\n```\n\nShould be\n\n```\n{0}\n```\n",
    "Running this with the NPU prints:\n\n```\n{1}\n```\n",
    "HPU:\n\n```\n{1}\n```\n\nCPU:\n\n```\n{0}\n```\n",
)


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("stdout", ["15.0\n", "13.0\n"])
def test_a_block_under_the_name_of_another_device_is_of_that_device(blocks: str, stdout: str) -> None:
    report = falls_back("sum", "mps", "backends.mps", "x.sum().item()", blocks.format("15.0", "14.0"))
    assert verdict_of(report, stdout) == "cannot_show"


@pytest.mark.parametrize(
    "blocks",
    [
        "On the CPU:\n\n```\n{0}\n```\n",
        "On CPU and on MPS I get:\n\n```\n{0}\n```\n",
        "Same on MPS.\n\n```\n{0}\n```\n",
        "It happens with the TPU, too:\n\n```\n{0}\n```\n",
        "There is no MPS here. I get:\n\n```\n{0}\n```\n",
    ],
)
def test_a_block_of_the_cpu_is_judged(blocks: str) -> None:
    report = falls_back("sum is off", "mps", "backends.mps", "x.sum().item()", blocks.format("14.0"))
    assert verdict_of(report, "14.0\n") == "reproduced"
    assert verdict_of(report, "15.0\n") == "different"
