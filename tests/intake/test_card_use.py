"""A script that could notice that others run beside it has its card from the start."""

from __future__ import annotations

import pytest

from app.intake.claim.claims import Check, CheckKind, Claim
from app.intake.needs.card_use import card_use
from worker.contract import CardUse

SCRIPT = "import torch\nx = torch.randn(3, device='cuda')\nprint((x @ x).sum())\n"
VALUE = Check(text="prints 3.0", kind=CheckKind.VALUE, number="3.0")


@pytest.mark.parametrize(
    "script",
    [
        SCRIPT,
        # Words that others contain.
        "import torch\n# change the second one of the times\ntorch.backends.cudnn.benchmark = True\n",
        "import torch\nloss.backward(); optimizer.step()  # the first time\n",
    ],
)
def test_ordinary_scripts_wait_for_their_card(script: str) -> None:
    for claim in (Claim(), Claim(checks=(VALUE,), text="It prints 3.0 and should change to 4.0.")):
        assert card_use(claim, script) is CardUse.AT_TOUCH


@pytest.mark.parametrize(
    "line",
    [
        "import time",
        "from time import perf_counter",
        "start = torch.cuda.Event(enable_timing=True)",
        "import torch.profiler",
        "from torch.utils import benchmark; benchmark.Timer('x')",
        "print(torch.cuda.memory_allocated())",
        "print(torch.cuda.max_memory_reserved())",
        "try: pass\nexcept torch.OutOfMemoryError: pass",
        "import signal; signal.alarm(3)",
        "import faulthandler; faulthandler.dump_traceback_later(5)",
        "import subprocess; subprocess.run(['x'], timeout=3)",
        "threading.Timer(3, f).start()",
        "torch.distributed.init_process_group('nccl')",
        "os.environ['CUDA_LAUNCH_BLOCKING'] = '1'",
        "triton.testing.do_bench(f)",
    ],
)
def test_a_word_of_the_script_is_enough(line: str) -> None:
    assert card_use(Claim(checks=(VALUE,)), SCRIPT + line + "\n") is CardUse.FROM_START


@pytest.mark.parametrize(
    "claim",
    [
        Claim(checks=(Check(text="slow", kind=CheckKind.SLOWER, sides=("cuda", "cpu")),)),
        Claim(checks=(Check(text="hangs", kind=CheckKind.HANG),)),
        Claim(checks=(Check(text="oom", kind=CheckKind.OUT_OF_MEMORY),)),
        Claim(checks=(Check(text="segfault", kind=CheckKind.CRASH, signal="SIGSEGV"),)),
        Claim(
            checks=(
                Check(text="x", kind=CheckKind.EXCEPTION, message="CUDA error: unspecified launch failure"),
            )
        ),
        Claim(checks=(VALUE,), text="It is much slower than before."),
        Claim(further=(Claim(checks=(Check(text="oom", kind=CheckKind.OUT_OF_MEMORY),)),)),
    ],
)
def test_a_claim_about_time_memory_or_faults_is_enough(claim: Claim) -> None:
    assert card_use(claim, SCRIPT) is CardUse.FROM_START
