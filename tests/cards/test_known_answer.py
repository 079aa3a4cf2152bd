"""The known answers are right, a wrong one is seen, and a real card gives them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from worker.cards.nvml import FaultWatch, find_gpus, processes_on, read_card
from worker.cards.watch import CardWatch
from worker.contract import MIB, CardState
from worker.harness import known_answer_source
from worker.sandbox import Sandbox
from worker.sandbox.isolation import private_mounts
from worker.toolchains import ToolchainStore

# On a processor, with fewer copies: the answers are exact, so they are the same there.
ON_CPU = """
import json, sys
import torch
source = sys.stdin.read().replace("main(int(sys.argv[1]))", "").replace("COPIES = 64", "COPIES = 2")
exec(compile(source, "known_answer.py", "exec"))
torch.cuda.mem_get_info = lambda card: (1 << 24, 1 << 24)
FAULT
card = torch.device("cpu")
parts = [*products(torch, card), *integers(torch, card), *memory(torch, card, 1 << 20)]
print(json.dumps({
    "right": [name for name, right in parts if right],
    "wrong": [name for name, right in parts if not right],
    "rounded": {name: digest(torch, value) for name, value in rounding(torch, card)}}))
"""
FAULTS = {
    "": [],
    "matmul, exact = None, torch.matmul\ndef flip(a, b):\n    c = exact(a, b)\n"
    "    c[1, 7, 9] += c.dtype == torch.float16\n    return c\n"
    "torch.matmul = flip": ["product float16"],
    "torch.Tensor.sort = lambda self: (self, None)": ["sort"],
    "fill = torch.Tensor.fill_\ndef stuck(self, value):\n    fill(self, value)\n"
    "    self[77] &= 0xFE\n    return self\n"
    "torch.Tensor.fill_ = stuck": ["memory ff", "memory 55"],
}


@pytest.fixture
def python(toolchains: Path, toolchain: str) -> str:
    chosen = ToolchainStore(toolchains).find(toolchain)
    assert chosen is not None
    return str(Path(toolchains, toolchain, "bin", "python"))


@pytest.mark.parametrize(
    ("fault", "wrong"), FAULTS.items(), ids=["sound", "a product", "an order", "a bit of memory"]
)
def test_what_is_computed_is_exact(python: str, fault: str, wrong: list[str]) -> None:
    program = ON_CPU.replace("FAULT", fault)
    process = subprocess.run(
        [python, "-c", program], input=known_answer_source(), capture_output=True, check=True, timeout=120
    )
    answer = json.loads(process.stdout)
    assert answer["wrong"] == wrong
    assert len(answer["right"]) == 14 - len(wrong)
    assert len(answer["rounded"]) == 11
    assert len(set(answer["rounded"].values())) == 11


def test_without_a_driver_there_is_nothing() -> None:
    if find_gpus():
        pytest.skip("this machine has a card")
    assert (read_card(0, xids=[]), processes_on(0)) == (None, None)
    watch = FaultWatch()
    watch.start()
    watch.stop()
    assert watch.xids(0) == []


@pytest.mark.sandbox
def test_on_a_card(tmp_path: Path, toolchains: Path, toolchain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cards = find_gpus()[:1]
    chosen = ToolchainStore(toolchains).find(toolchain)
    if not cards or chosen is None or chosen.facts.cuda_build is None:
        pytest.skip("no NVIDIA card here, or a CPU build of torch")
    # No known answers: the first answer is stored.
    monkeypatch.setattr("worker.cards.watch._SHIPPED", tmp_path / "none.json")
    private_mounts.enter()
    tmp_path.chmod(0o755)
    sandbox = Sandbox(slot=6, home=tmp_path)
    watch = CardWatch(cards, lambda: chosen, folder=tmp_path, check_seconds=600, check_memory_bytes=256 * MIB)
    watch.start()
    index = cards[0].index
    assert (watch.due(), watch.usable(), watch.cards()[0].state) == ([index], [index], CardState.UNCHECKED)
    assert watch.check(index, sandbox), watch.cards()
    assert (watch.due(), watch.usable(), watch.cards()[0].state) == ([], [index], CardState.SOUND)
    reading = watch.read(index)
    assert reading is not None
    assert 10 < (reading.temperature or 0) < 110
    assert (reading.ecc_uncorrected, reading.xids) == (0, [])
    # The same card is compared with another answer.
    learned = tmp_path / "known_answers.json"
    answers = json.loads(learned.read_text())
    (key,) = answers
    learned.write_text(json.dumps({key: {**answers[key], "fft": "0" * 16}}))
    assert not watch.check(index, sandbox)
    assert (watch.usable(), watch.cards()[0].state) == ([], CardState.FAULTY)
    assert "fft" in watch.cards()[0].detail
    learned.write_text(json.dumps(answers))
    assert watch.check(index, sandbox)
    assert watch.usable() == [index]
    watch.stop()
