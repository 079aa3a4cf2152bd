"""An interpreter pauses only if its forks are like processes of their own; else it reports why not."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from warm_jobs import Both

from worker.sandbox import Bind
from worker.sandbox.errors import SetupError
from worker.warm.zygote import Zygote

# numpy's BLAS ends its threads, one for each core, before a fork. Other threads would be missing in the fork.
NUMPY = """
import os, numpy
assert len(os.listdir("/proc/self/task")) > 1 or len(os.sched_getaffinity(0)) == 1
"""
THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
IMPORTS = {
    "nothing": ("", None),
    "numpy": (NUMPY, None),
    "a thread": (THREAD, "2 threads after the import"),
    "a line": ("import os\nos.write(1, b'hello')", "the imports print"),
    "an error": ("raise ValueError('no good')", "the imports failed: ValueError: no good"),
}


@pytest.mark.parametrize(("source", "trouble"), IMPORTS.values(), ids=IMPORTS.keys())
def test_what_an_import_does(both: Both, source: str, trouble: str | None) -> None:
    with pausing(both, source) as zygote:
        if trouble is None:
            zygote.await_ready()
        else:
            with pytest.raises(SetupError, match=trouble):
                zygote.await_ready()


def test_a_card_that_was_started(on_a_card: Both) -> None:
    """Where jobs get their card through a gate, a paused interpreter has none to start."""
    trouble = r"a card is open|\d threads" if on_a_card.make_gate is None else "No CUDA GPUs are available"
    with (
        pausing(on_a_card, "import torch\ntorch.cuda.init()") as zygote,
        pytest.raises(SetupError, match=trouble),
    ):
        zygote.await_ready()


@contextmanager
def pausing(both: Both, source: str) -> Iterator[Zygote]:
    """A paused interpreter whose only import is this module."""
    bubblewrap = both.sandbox.bubblewrap
    assert bubblewrap is not None
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        Path(folder, "imported.py").write_text(source)
        job = both.job("")
        job = replace(
            job,
            binds=(*job.binds, Bind(folder, "/opt/imported")),
            variables={**job.variables, "PYTHONPATH": "/opt/imported"},
        )
        zygote = Zygote(bubblewrap, job, forks=True, modules=("imported",))
        try:
            yield zygote
        finally:
            zygote.close()
