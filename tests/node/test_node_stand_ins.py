"""Kernels of a card are judged by formulas: what an H200 gave, computed here as the card computes it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from worker.toolchains import ToolchainStore

CHECK = Path(__file__).parents[2] / "worker" / "harness" / "check" / "rounding_check.py"
# Each question, by name: the operation, its arguments, what the card gave, and whether it may use TF32.
PROGRAM = """
import sys, torch
torch.manual_seed(0)
questions = []

def ask(name, args, out, tf32=False, **kwargs):
    side = {"side": "cuda", "args": args, "kwargs": kwargs, "tf32": tf32, "default": torch.float32, "out": out}
    numbered = {"number": len(questions) + 1, "name": "aten::" + name, "overload": "", "inputs_agree": None}
    questions.append({**numbered, "sides": [side]})

def number(value): return torch.tensor(value)
def cut(values): return (values.view(torch.int32) & ~0x1FFF).view(torch.float32)

# Adam's kernel rounds the powers that its corrections take from one.
weight, mean, square = torch.randn(100), torch.zeros(100), torch.zeros(100)
for count in (1, 2):
    grad = weight.sin() + weight * weight.cos()
    args = [[weight], [grad], [mean], [square], [], [number(float(count))]]
    options = {"lr": 0.1, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.01, "eps": 1e-8}
    whole = grad + weight * 0.01
    mean = mean * number(0.9) + (1 - number(0.9)) * whole
    square = square * number(0.999) + (1 - number(0.999)) * whole * whole
    first, second = 1 - number(0.9) ** count, 1 - number(0.999) ** count
    weight = weight - number(0.1) / first * mean / (square.sqrt() / second.sqrt() + 1e-8)
for factor in (1.0, 1.001):
    ask("_fused_adam_", args, [weight * factor], **options, amsgrad=False, maximize=False)

# A recurrent layer with factors of ten bits.
layer, rows = torch.nn.LSTM(5, 7), torch.randn(6, 2, 5)
weights = [each.detach() for each in layer.parameters()]
def recurrent(scale=1.0):
    hidden, cell, outs = torch.zeros(2, 7), torch.zeros(2, 7), []
    for row in rows:
        gates = cut(row) @ cut(weights[0]).T + cut(hidden) @ cut(weights[1]).T + weights[2] + weights[3]
        start, keep, new, show = gates.chunk(4, 1)
        cell = keep.sigmoid() * cell + start.sigmoid() * new.tanh()
        hidden = show.sigmoid() * cell.tanh() * scale
        outs.append(hidden)
    return [torch.stack(outs), hidden[None], cell[None]]
args = [rows, weights, 4, None, torch.zeros(1, 2, 7), torch.zeros(1, 2, 7), 2, 7, 0, 1, False, 0.0, True, False, [], None]
for out, tf32 in ((recurrent(), True), (recurrent(), False), (recurrent(1.02), True)):
    ask("_cudnn_rnn", args, out, tf32)

# Attention in half precision, with its derivatives.
half = [torch.randn(1, 2, 8, 16).half().requires_grad_() for _ in range(3)]
query, key, value = half
weighed = (query.float() @ key.float().mT / 4).softmax(-1).half()
out = (weighed.float() @ value.float()).half()
grad = torch.randn(out.shape).half()
slopes = torch.autograd.grad(out, half, grad)
plain = [each.detach() for each in half]
none = torch.zeros(0)
for factor in (1.0, 1.1):
    ask("_scaled_dot_product_flash_attention", [*plain, 0.0, False, False], [out.detach() * factor])
    args = [grad, *plain, out.detach(), none, none, none, 8, 8, 0.0, False, none, none]
    ask("_scaled_dot_product_flash_attention_backward", args, [each * factor for each in slopes])

# Batch normalisation.
rows, scale, shift = torch.randn(4, 3, 5, 5) + 5, torch.rand(3), torch.rand(3)
out = (rows - rows.mean((0, 2, 3), True)) / (rows.var((0, 2, 3), unbiased=False, keepdim=True) + 1e-5).sqrt()
out = out * scale[:, None, None] + shift[:, None, None]
for factor in (1.0, 1.001):
    ask("cudnn_batch_norm", [rows, scale, shift, torch.zeros(3), torch.ones(3), True, 0.1, 1e-5], [out * factor])
# Torch's own decomposition takes the square of this length in memory.
long = torch.rand(200_000) - 0.5
ask("cumsum", [long, 0], [long.cumsum(0)])
torch.save(questions, sys.argv[1])
"""  # noqa: E501
EXPECTED = [
    ("_fused_adam_", True, False), ("_fused_adam_", False, False),
    ("_cudnn_rnn", True, True), ("_cudnn_rnn", False, False), ("_cudnn_rnn", False, False),
    ("_scaled_dot_product_flash_attention", True, False),
    ("_scaled_dot_product_flash_attention_backward", True, False),
    ("_scaled_dot_product_flash_attention", False, False),
    ("_scaled_dot_product_flash_attention_backward", False, False),
    ("cudnn_batch_norm", True, False), ("cudnn_batch_norm", False, False), ("cumsum", True, False),
]  # fmt: skip
# The check's file ends by checking; here each question's facts are printed.
ALL = """
import json, sys
from pathlib import Path
text = Path(sys.argv[1]).read_text().replace("main(sys.argv[1])", "")
names = {"__name__": "check", "__file__": sys.argv[1]}
exec(compile(text, sys.argv[1], "exec"), names)
torch = names["torch"]
torch.set_default_dtype(torch.float64)
questions = torch.load(sys.argv[2], weights_only=True)
print(json.dumps([names["facts_of"](question) for question in questions]))
"""


@pytest.mark.sandbox
def test_kernels_of_a_card_are_held_against_formulas(
    toolchains: Path, toolchain: str, tmp_path: Path
) -> None:
    found = ToolchainStore(toolchains).find(toolchain)
    assert found is not None
    asked = tmp_path / "asked"
    subprocess.run([found.python, "-c", PROGRAM, asked], check=True, timeout=120)
    done = subprocess.run(
        [found.python, "-c", ALL, CHECK, asked], check=True, capture_output=True, text=True, timeout=120
    )
    facts: list[dict[str, Any]] = json.loads(done.stdout)
    seen = [
        (row["name"][6:], row["sides"][0]["explained"], row["sides"][0].get("reduced", False))
        for row in facts
    ]
    assert seen == EXPECTED
