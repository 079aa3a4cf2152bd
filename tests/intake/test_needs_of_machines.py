"""Needs that decide where a script can run: memory, GPUs, ranks, files, input, the network."""

from __future__ import annotations

import pytest
from default_limits import read

from app.intake.reading import Need, NeedKind


def needs(script: str, kind: NeedKind) -> list[Need]:
    return [need for need in read(script, form="script").scripts[0].needs if need.kind is kind]


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("import torch\nx = torch.zeros(100000, 100000)", 40_000_000_000),
        ("import torch\nx = torch.zeros((100_000, 100_000), dtype=torch.float64)", 80_000_000_000),
        ("import torch\nn = 10**5\nx = torch.ones([n, n], dtype=torch.half)", 20_000_000_000),
        ("import torch\nm, n = 1 << 16, 1 << 17\nx = torch.rand(m, n)", 4 * 2**33),
        ("import numpy as np\nx = np.zeros((50000, 50000))", 20_000_000_000),
        ("import numpy as np\nx = np.full((50000, 50000), 1, dtype='int8')", 2_500_000_000),
        ("import torch\nx = torch.randint(0, 10, (20000, 20000))", 3_200_000_000),
        ("import torch\nx = torch.eye(int(1e5))", 40_000_000_000),
        ("import torch\nx = torch.zeros(3, 3)", None),
        ("import torch\nx = torch.zeros(100000, 100000, device='meta')", None),
        ("import torch\nx = torch.zeros(100000, 100000, device='cuda')", None),
        ("import torch\nn = 3\nn = 10**6\nx = torch.zeros(n, n)", None),
        ("import torch\nx = torch.zeros(2**(2**(2**70)))", None),
        ("import torch\nx = torch.tensor(1e12)", None),
        ("import torch\nx = torch.zeros(k, 10**9)", None),
    ],
)  # fmt: skip
def test_memory(script: str, wanted: int | None) -> None:
    assert [need.bytes for need in needs(script, NeedKind.MEMORY)] == ([] if wanted is None else [wanted])


def test_memory_is_told_in_words() -> None:
    need = needs("import torch\nx = torch.zeros(100000, 100000)", NeedKind.MEMORY)[0]
    assert (need.name, need.line) == ("37.3 GiB", 2)


@pytest.mark.parametrize(
    ("script", "count"),
    [
        ("x.cuda(1)", 2),
        ("x.cuda(device=3)", 4),
        ("x.to(1)", 2),
        ("x.to(device=1)", 2),
        ("torch.zeros(2, device=1)", 2),
        ("torch.cuda.set_device(2)", 3),
        ("torch.cuda.memory_allocated(1)", 2),
        ("x = x.to('cuda:3')", 4),
        ("torch.device('cuda', 1)", 2),
        ("torch.nn.DataParallel(x, device_ids=[0, 3])", 4),
        ("assert torch.cuda.device_count() >= 2\nx.cuda()", 2),
        ("if torch.cuda.device_count() < 4:\n    raise SystemExit\nx.cuda()", 4),
        ("torch.multiprocessing.spawn(f, nprocs=2)\nx.cuda()", 2),
        ("world = 8\ntorch.multiprocessing.spawn(f, nprocs=world)\nx.cuda()", 8),
        ("x.cuda()", 1),
        ("x.sum(1)", 0),
        ("if torch.cuda.device_count() > 1:\n    x.cuda(1)", 0),
        ("x = x.to('cuda' if torch.cuda.is_available() else 'cpu')", 0),
    ],
)
def test_cards(script: str, count: int) -> None:
    found = needs(f"import torch\nx = torch.ones(2)\nf = print\n{script}", NeedKind.GPU)
    assert [need.count for need in found] == ([count] if count else [])


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("a = open('a.txt')\nb = open('b.txt')", ["a.txt", "b.txt"]),
        ("from pathlib import Path\nprint(Path('a.json').read_text())", ["a.json"]),
        ("from pathlib import Path\nPath('a').write_text('x')\nprint(Path('a').read_text())", []),
        ("import pandas as pd\npd.read_excel('a.xlsx')", ["a.xlsx"]),
        ("import h5py\nh5py.File('a.h5', 'w')", []),
        ("import h5py\nh5py.File('a.h5', 'r')", ["a.h5"]),
        ("import ctypes\nctypes.CDLL('./libx.so')", ["./libx.so"]),
        ("import ctypes\nctypes.CDLL('libc.so.6')", []),
        ("try:\n    open('a.txt')\nexcept FileNotFoundError:\n    print('no')", []),
        ("from .model import Net\nNet()", ["model.py"]),
        ("from utils import seed\nseed()", ["utils.py"]),
        ("try:\n    import utils\nexcept ImportError:\n    utils = None", []),
        ("import os\nprint(os.listdir('.'))", []),
        ("open('a', 'w').write('x')\nprint(open('a').read())", []),
        ("with open('a', mode='wb') as f:\n    f.write(b'')\nopen('a', 'rb')", []),
        ("import pandas as pd\npd.read_csv('https://example.invalid/a.csv')", []),
    ],
)
def test_files(script: str, names: list[str]) -> None:
    assert [need.name for need in needs(script, NeedKind.FILE)] == names


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ("x = input()", True),
        ("import sys\nfor line in sys.stdin:\n    print(line)", True),
        ("import sys, json\nprint(json.load(sys.stdin))", True),
        ("import sys\nprint(sys.stdin.read())", True),
        ("import getpass\ngetpass.getpass()", True),
        ("import sys\nprint(sys.stdin.isatty())", False),
        ("import sys, io\nsys.stdin = io.StringIO('x')\nprint(sys.stdin.read())", False),
        ("def input():\n    return 1\ninput()", False),
    ],
)
def test_input(script: str, *, asked: bool) -> None:
    assert bool(needs(script, NeedKind.INPUT)) is asked


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ("import sys\nn = int(sys.argv[1])", True),
        ("import torch.distributed as dist\ndist.init_process_group('nccl')", True),
        ("import os\nr = int(os.environ['RANK'])", True),
        (
            (
                "import torch.distributed as dist\n"
                "dist.init_process_group('gloo', rank=0, world_size=1, init_method='tcp://127.0.0.1:1')"
            ),
            False,
        ),
        (
            (
                "import os\nimport torch.distributed as dist\nos.environ['MASTER_ADDR'] = '::1'\n"
                "dist.init_process_group('gloo')"
            ),
            False,
        ),
        ("import sys\nprint(sys.argv[0])", False),
    ],
)
def test_arguments_and_launchers(script: str, *, asked: bool) -> None:
    assert bool(needs(script, NeedKind.ARGUMENTS)) is asked


@pytest.mark.parametrize(
    ("script", "asked"),
    [
        ("import pandas as pd\npd.read_csv('https://example.invalid/a.csv')", True),
        ("import os\nos.system('wget https://example.invalid/a')", True),
        ("import subprocess\nsubprocess.run(['curl', 'x'])", True),
        ("import socket\nsocket.create_connection(('example.invalid', 80))", True),
        ("import torchvision\ntorchvision.datasets.MNIST('.', download=True)", True),
        ("import torch\ntorch.hub.load('a/b', 'c')", True),
        ("import subprocess\nsubprocess.run(['ls'])", False),
        ("import socket\ns = socket.socket()\ns.connect(('127.0.0.1', 80))", False),
        ("import sqlite3\nsqlite3.connect('a.db')", False),
        ("print('https://example.invalid')", False),
    ],
)
def test_network(script: str, *, asked: bool) -> None:
    assert bool(needs(script, NeedKind.NETWORK)) is asked
