"""The sandbox shows only granted device nodes, and sees from outside which of them were opened."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sandbox_jobs import Jobs

from worker.sandbox.isolation import gpu
from worker.sandbox.resources import processes

# A character device that everybody may open serves as a card.
NODE = "/dev/fuse"


def test_only_what_was_opened_is_reported(jobs: Jobs) -> None:
    opened = jobs.run("import time; file = open('/dev/full', 'rb'); time.sleep(0.5)", devices=("/dev/full",))
    assert (opened.exit_status, opened.devices_opened) == (0, ("/dev/full",))
    child = (
        "import os, time\nif os.fork() == 0: fd = os.open('/dev/full', os.O_RDONLY); "
        "time.sleep(0.5); os._exit(0)\nos.wait()"
    )
    assert jobs.run(child, devices=("/dev/full",)).devices_opened == ("/dev/full",)
    assert jobs.run("import time; time.sleep(0.3)", devices=("/dev/full",)).devices_opened == ()
    # Its name inside does not matter: a symbolic link leads to the same node.
    linked = (
        "import os, time; os.symlink('/dev/full', '/tmp/x'); file = open('/tmp/x', 'rb'); time.sleep(0.5)"
    )
    assert jobs.run(linked, devices=("/dev/full",)).devices_opened == ("/dev/full",)


@pytest.mark.skipif(
    not Path(NODE).is_char_device() or not os.access(NODE, os.R_OK), reason=f"no device {NODE} for this user"
)
def test_a_node_is_there_only_when_it_is_granted(jobs: Jobs) -> None:
    if jobs.runner.uid is not None or not Path(NODE).stat().st_mode & 0o004:
        source = f"import os; print(os.path.exists('{NODE}'))"
    else:
        source = f"import os; print(os.path.exists('{NODE}') and os.open('{NODE}', os.O_RDWR) > 0)"
    assert jobs.output_of(source) == "False\n"
    assert jobs.output_of(source, devices=(NODE,)) == "True\n"
    assert (
        jobs.output_of(
            "try: open('/dev/x', 'w')\nexcept OSError as error: print(error.errno)", devices=(NODE,)
        )
        == "30\n"
    )


def test_no_limit_of_file_size_with_a_device(jobs: Jobs) -> None:
    source = (
        "from resource import RLIMIT_DATA, RLIMIT_FSIZE, getrlimit\n"
        "print(getrlimit(RLIMIT_FSIZE)[0] == -1, getrlimit(RLIMIT_DATA)[0] == -1)"
    )
    assert jobs.output_of(source, devices=("/dev/full",)) == "True True\n"
    assert jobs.output_of(source) == f"False {jobs.counted}\n"


def test_a_card_brings_its_control_nodes() -> None:
    there = tuple(node for node in ("/dev/nvidiactl", "/dev/nvidia-uvm") if Path(node).exists())
    assert gpu.nodes(("/dev/nvidia0",)) == ("/dev/nvidia0", *there)
    assert gpu.nodes(("/dev/full",)) == ("/dev/full",)
    assert gpu.nodes(()) == ()


def test_numbers_of_nodes() -> None:
    assert processes.device_numbers(("/dev/full", "/dev/not-there", "/etc/passwd")) == {
        os.makedev(1, 7): "/dev/full"
    }
