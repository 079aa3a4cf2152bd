"""On a card, a fork of a paused interpreter computes, fails and ends like a process of its own."""

from __future__ import annotations

import json

import pytest
from warm_jobs import SMALL, Both

from worker.contract import GIB

LARGE = SMALL.model_copy(update={"memory_bytes": 16 * GIB, "wall_seconds": 120.0})

SAME = {
    "matmul": (
        "import torch\na = torch.ones(64, 64, device='cuda')\n"
        "print((a @ a).sum().item(), torch.cuda.get_device_name())\n"
    ),
    "asked first": (
        "import torch\n"
        "print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.get_device_capability())\n"
    ),
    "a fork of its own": """
import torch
torch.ones(1, device="cuda")
def work():
    try: torch.ones(1, device="cuda")
    except RuntimeError as error: print(error, flush=True)
process = torch.multiprocessing.get_context("fork").Process(target=work)
process.start(); process.join()
""",
    "a fork before": """
import torch
def work(): print(torch.ones(2, device="cuda").sum().item(), flush=True)
process = torch.multiprocessing.get_context("fork").Process(target=work)
process.start(); process.join(); print(torch.ones(3, device="cuda").sum().item())
""",
    "out of memory": """
import torch
try: torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError as error: print(str(error)[:60])
""",
    "wrong device": "import torch\ntorch.ones(2, device='cuda') + torch.ones(2)\n",
    "no such card": "import torch\ntorch.ones(2, device='cuda:99')\n",
    "a failed assertion": (
        "import torch\n"
        "x = torch.ones(4, device='cuda')[torch.tensor([9], device='cuda')]\n"
        "torch.cuda.synchronize()\n"
    ),
    "pinned": (
        "import torch\nx = torch.arange(9).pin_memory()\n"
        "print(x.to('cuda', non_blocking=True).sum().item(), x.is_pinned())\n"
    ),
    "graph": """
import torch
x = torch.zeros(3, device="cuda"); graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph): x += 1
for _ in range(3): graph.replay()
print(x.tolist())
""",
    "loader": """
import torch
from torch.utils.data import DataLoader
print([b.cuda().tolist() for b in DataLoader(range(8), batch_size=3, num_workers=2, pin_memory=True)])
""",
    "flags": """
import torch
print(torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.version(), torch.version.cuda,
    torch.cuda.nccl.version())
""",
}


@pytest.mark.parametrize("script", SAME.values(), ids=SAME.keys())
def test_ends_the_same(on_a_card: Both, script: str) -> None:
    cold, warm = on_a_card.cold(script, limits=LARGE), on_a_card.warm(script, limits=LARGE)
    for one in ("stdout", "stderr"):
        assert getattr(warm, one).head.decode(errors="replace") == getattr(cold, one).head.decode(
            errors="replace"
        ), one
    for one in ("ending", "exit_status", "signal"):
        assert getattr(warm, one) == getattr(cold, one), one
    assert set(warm.devices_opened) == set(cold.devices_opened)


NUMBERS = r"""
import hashlib, json, torch
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
seen = {}
def put(name, value):
    data = value.detach().contiguous().view(torch.uint8).cpu().numpy().tobytes()
    seen[name] = hashlib.sha256(data).hexdigest()
a, b = torch.randn(256, 256, device="cuda"), torch.randn(256, 256, device="cuda")
put("random", torch.rand(1000, device="cuda")); put("f64", a.double().exp().mean(0))
put("sum", a.exp().sum().reshape(1))
put("bf16", a.bfloat16().exp())
put("conv", torch.nn.functional.conv2d(a[None, None], torch.randn(4, 1, 3, 3, device="cuda")))
put("softmax", a.softmax(0)); put("sort", a.flatten().sort()[1])
put("fft", torch.view_as_real(torch.fft.fft(a)))
q = torch.randn(2, 4, 32, 16, device="cuda")
put("attention", torch.nn.functional.scaled_dot_product_attention(q, q, q))
put("multinomial", torch.multinomial(a.abs(), 5)); put("bernoulli", torch.bernoulli(a.sigmoid()))
put("dropout", torch.dropout(a, 0.5, True))
print(json.dumps(seen))
"""


def test_numbers_are_the_same_bit_for_bit(on_a_card: Both) -> None:
    cold, warm = (json.loads(output) for output in on_a_card.output_of(NUMBERS, limits=LARGE))
    assert cold == warm
    assert len(cold) == 12


def test_no_two_warm_starts_draw_the_same(on_a_card: Both) -> None:
    script = "import torch\nprint(torch.cuda.initial_seed(), torch.rand(1, device='cuda').item())"
    draws = [on_a_card.warm(script, limits=LARGE).stdout.head for _ in range(3)]
    assert len(set(draws)) == 3
