"""A slot's uid can read files of root in our private mount namespace, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sandbox_runner import AS_ROOT, PLAIN_UID, ROOT, readable_path, readable_prefix

from worker.sandbox.isolation import private_mounts

root_only = pytest.mark.skipif(not AS_ROOT, reason="only root makes mount namespaces")


def test_readable(sandbox_home: Path) -> None:
    folder = sandbox_home / "modes"
    folder.mkdir(mode=0o755)
    file = folder / "file"
    file.write_text("x")
    file.chmod(0o644)
    assert private_mounts.readable(str(file), uid=PLAIN_UID)
    file.chmod(0o640)
    assert not private_mounts.readable(str(file), uid=PLAIN_UID)
    file.chmod(0o644)
    folder.chmod(0o700)
    assert not private_mounts.readable(str(file), uid=PLAIN_UID)
    assert private_mounts.readable(str(file), uid=folder.stat().st_uid)


@root_only
def test_it_is_harmless_for_a_plain_user() -> None:
    prefix = readable_prefix(uid=PLAIN_UID)
    source = (
        "from worker.sandbox.isolation import private_mounts as p; print(p.enter(), p.show('/root/x', uid=1))"
    )
    python = f"{prefix}/bin/python3.{sys.version_info.minor}"
    path = ":".join(readable_path(uid=PLAIN_UID))
    environment = {"PYTHONPATH": path, "LD_LIBRARY_PATH": f"{prefix}/lib", "PYTHONDONTWRITEBYTECODE": "1"}
    output = subprocess.check_output(
        [python, "-c", source], user=PLAIN_UID, group=PLAIN_UID, extra_groups=[], env=environment, text=True
    )
    assert output == "False /root/x\n"


@root_only
def test_all_threads_share_what_the_main_thread_entered() -> None:
    source = """
import os, tempfile, threading
from pathlib import Path
from worker.sandbox.isolation import private_mounts
before = os.readlink("/proc/self/ns/mnt")
assert private_mounts.enter() and private_mounts.enter()
assert os.readlink("/proc/self/ns/mnt") != before
folder = tempfile.mkdtemp()
Path(folder, "closed").write_text("shown")
Path(folder, "closed").chmod(0o600)
Path(folder).chmod(0o700)
shown = []
def show():
    place = private_mounts.show(folder, uid=47001)
    assert place == private_mounts.show(folder, uid=47001)
    shown.append(place)
for _ in range(2):
    thread = threading.Thread(target=show)
    thread.start()
    thread.join()
assert shown[0] == shown[1] != folder
print(Path(shown[0], "closed").read_text())
import shutil; shutil.rmtree(folder)
"""
    assert subprocess.check_output([sys.executable, "-c", source], cwd=ROOT, text=True) == "shown\n"
    assert "shown" not in Path("/proc/1/mountinfo").read_text()


@root_only
def test_a_thread_may_have_one_of_its_own() -> None:
    paths: list[str] = []
    thread = threading.Thread(target=lambda: paths.append(private_mounts.show("/root", uid=PLAIN_UID)))
    thread.start()
    thread.join()
    assert paths[0].startswith(("/run/samehere-mounts/", "/tmp/samehere-mounts/")) or paths == ["/root"]


@root_only
def test_a_bubblewrap_below_a_home_that_nobody_else_reads_comes_with_its_library(sandbox_home: Path) -> None:
    home = sandbox_home / "closed"
    home.mkdir(mode=0o700, exist_ok=True)
    source = """
import subprocess, sys
from pathlib import Path
from worker.sandbox.isolation import binary, private_mounts
private_mounts.enter()
readable = private_mounts.readable
private_mounts.readable = lambda path, uid: "site-packages" not in path and readable(path, uid=uid)
binary._PLACES = ()
found = binary.find(uid=47001, home=Path(sys.argv[1]))
print(subprocess.check_output([found, "--version"], user=47001, group=47001, extra_groups=[], env={},
    text=True))
"""
    output = subprocess.check_output([sys.executable, "-c", source, str(home)], cwd=ROOT, text=True)
    assert output.startswith("bubblewrap ")
