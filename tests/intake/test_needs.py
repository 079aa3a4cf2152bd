"""The needs of a script: the code that each rule must see, and the code that it must not."""

from __future__ import annotations

import ast

import pytest

from app.intake.code.randomness import is_unseeded
from app.intake.needs.needs import needs_of
from app.intake.reading import NeedKind


def gpus(script: str) -> int:
    return max((need.count for need in needs_of(ast.parse(script)) if need.kind is NeedKind.GPU), default=0)


def named(script: str, kind: NeedKind) -> list[str]:
    return [need.name for need in needs_of(ast.parse(script)) if need.kind is kind]


@pytest.mark.parametrize(
    ("count", "script"),
    [
        (1, "x.cuda()"),
        (1, "torch.ones(2, device='cuda')"),
        (1, "torch.ones(2).to('cuda:0')"),
        (1, "for device in ('cpu', 'cuda'):\n    print(device)"),
        (1, "if not torch.cuda.is_available():\n    sys.exit()\nprint(1)"),
        (1, "if not torch.cuda.is_available():\n    raise SystemExit\nprint(1)"),
        (1, "ok = torch.cuda.is_available()\nif not ok:\n    sys.exit(1)"),
        (1, "assert torch.cuda.is_available()"),
        (1, "def main():\n    if not torch.cuda.is_available():\n        return\nmain()"),
        (1, "torch.cuda.synchronize()"),
        (1, "print(torch.cuda.get_device_name())"),
        (1, "torch.device('cuda')"),
        (1, "import cupy"),
        (1, "x.to(f'cuda:{rank}')"),
        (2, "torch.ones(2, device='cuda:1')"),
        (2, "x.cuda(1)"),
        (2, "x.to(1)"),
        (2, "torch.device('cuda', 1)"),
        (3, "DataParallel(net, device_ids=[0, 1, 2])"),
        (2, "def f(rank): torch.device('cuda', rank)\nmp.spawn(f, nprocs=2)"),
        (4, "n = 4\ndist.init_process_group('nccl', world_size=n)"),
        (16, "x.cuda(999999)"),
        (0, "print(1)"),
        (0, "import json\nprint(json.dumps({'devices': ['cuda:0']}))"),
        (0, "import os, sys\nprint('cuda', os.getpid())"),
        (1, "import json, helpers_of_mine\nhelpers_of_mine.run('cuda:0')"),
        (0, "device = 'cuda' if torch.cuda.is_available() else 'cpu'"),
        (0, "device = torch.device('cuda:1' if torch.cuda.is_available() else 'cpu')"),
        (0, "ok = torch.cuda.is_available()\ndevice = 'cuda' if ok else 'cpu'"),
        (0, "if torch.cuda.is_available():\n    x.cuda()\nelse:\n    print('cpu')"),
        (0, "torch.cuda.is_available() and x.cuda()"),
        (0, "torch.cuda.manual_seed_all(1)"),
        (0, "torch.backends.cuda.matmul.allow_tf32 = True"),
        (0, "if x.device.type == 'cuda':\n    print(1)"),
        (0, "dist.init_process_group('gloo', world_size=2)"),
        (0, "print('runs on cuda')"),
        (0, "x.to(torch.float16)"),
    ],
)
def test_gpus(count: int, script: str) -> None:
    assert gpus(script) == count


@pytest.mark.parametrize(
    ("names", "script"),
    [
        (["torch"], "import torch.nn as nn\nfrom torch import cuda"),
        (["numpy", "torch"], "import os, numpy, torch"),
        (["scikit-learn"], "from sklearn.svm import SVC"),
        (["opencv-python", "pillow", "pyyaml"], "import cv2\nimport PIL\nimport yaml"),
        (["torch"], "import functorch"),
        ([], "import os, sys, json"),
        ([], "from . import other"),
        ([], "try:\n    import apex\nexcept ImportError:\n    apex = None"),
        (["apex"], "try:\n    import apex\nexcept ValueError:\n    apex = None"),
    ],
)
def test_packages(names: list[str], script: str) -> None:
    assert named(script, NeedKind.PACKAGE) == names


@pytest.mark.parametrize(
    ("names", "script"),
    [
        (["a.pt"], "torch.load('a.pt')"),
        (["a.pt"], "path = 'a.pt'\ntorch.load(path)"),
        (["b.txt"], "open('b.txt')"),
        (["b.txt"], "with open('b.txt', mode='rb') as file: pass"),
        (["d.csv"], "pd.read_csv('d.csv')"),
        ([], "open('b.txt', 'w')"),
        ([], "torch.save(x, 'a.pt')\ntorch.load('a.pt')"),
        ([], "path = 'a.pt'\ntorch.save(x, path)\ntorch.load(path)"),
        ([], "open('b.txt', 'w')\nopen('b.txt')"),
        ([], "open('/proc/self/maps')"),
        ([], "open(name)"),
        ([], "pd.read_csv('https://example.invalid/d.csv')"),
    ],
)
def test_files(names: list[str], script: str) -> None:
    assert named(script, NeedKind.FILE) == names


@pytest.mark.parametrize(
    ("needed", "script"),
    [
        (True, "requests.get('https://example.invalid')"),
        (True, "AutoModel.from_pretrained('bert')"),
        (True, "torch.hub.load('a', 'b')"),
        (True, "datasets.MNIST('.', download=True)"),
        (True, "torchvision.models.resnet18(pretrained=True)"),
        (True, "torchvision.models.resnet18(weights='DEFAULT')"),
        (True, "from sklearn.datasets import fetch_openml\nfetch_openml('mnist')"),
        (False, "torchvision.models.resnet18(weights=None)"),
        (False, "datasets.MNIST('.', download=False)"),
        (False, "cursor.fetch_one()"),
        (False, "print('requests')"),
    ],
)
def test_network(*, needed: bool, script: str) -> None:
    assert bool(named(script, NeedKind.NETWORK)) is needed


@pytest.mark.parametrize(
    ("kind", "needed", "script"),
    [
        (NeedKind.ARGUMENTS, True, "sys.argv[1]"),
        (NeedKind.ARGUMENTS, True, "p.add_argument('path')"),
        (NeedKind.ARGUMENTS, True, "p.add_argument('--rank', required=True)"),
        (NeedKind.ARGUMENTS, True, "rank = int(os.environ['LOCAL_RANK'])"),
        (NeedKind.ARGUMENTS, False, "os.environ['RANK'] = '0'\nrank = os.environ['RANK']"),
        (NeedKind.ARGUMENTS, False, "sys.argv[0]"),
        (NeedKind.ARGUMENTS, False, "if len(sys.argv) > 1:\n    print(sys.argv[1])"),
        (NeedKind.ARGUMENTS, False, "p.add_argument('--rank', type=int)"),
        (NeedKind.ARGUMENTS, False, "p.add_argument('path', nargs='?')"),
        (NeedKind.ARGUMENTS, False, "p.add_argument('path')\np.parse_args(['x'])"),
        (NeedKind.INPUT, True, "name = input('? ')"),
        (NeedKind.INPUT, True, "sys.stdin.read()"),
        (NeedKind.INPUT, False, "input = torch.ones(2)\nnet(input)\ninput(3)"),
        (NeedKind.OS, True, "import winreg"),
        (NeedKind.OS, True, "ctypes.windll.kernel32"),
        (NeedKind.OS, False, "import ctypes"),
    ],
)
def test_what_comes_from_outside(kind: NeedKind, script: str, *, needed: bool) -> None:
    assert (
        bool(named(script, kind) or [need for need in needs_of(ast.parse(script)) if need.kind is kind])
        is needed
    )


def test_needs_name_their_line_and_come_once() -> None:
    needs = needs_of(ast.parse("import torch\nx.cuda()\nimport torch.nn\ny.cuda(1)"))
    assert [(need.kind, need.name, need.count, need.line) for need in needs] == [
        (NeedKind.PACKAGE, "torch", 1, 1),
        (NeedKind.GPU, "", 2, 2),
    ]


def test_deep_trees_are_read() -> None:
    assert gpus("x = " + "+".join(["1"] * 900) + "\ny.cuda()") == 1


@pytest.mark.parametrize(
    ("unseeded", "script"),
    [
        (True, "import torch\ntorch.randn(2)"),
        (True, "import random\nprint(random.random())"),
        (True, "from random import choice\nchoice([1])"),
        (True, "import numpy as np\nnp.random.rand(2)"),
        (True, "import torch\nprint(torch.nn.Linear(2, 2))"),
        (True, "import torch\ntorch.empty(2).normal_()"),
        (True, "import torch, random\ntorch.manual_seed(1)\nrandom.random()"),
        (True, "import uuid\nprint(uuid.uuid4())"),
        (False, "import torch\ntorch.manual_seed(1)\ntorch.randn(2)"),
        (False, "import random\nrandom.seed(1)\nrandom.random()"),
        (False, "import numpy as np\nnp.random.seed(1)\nnp.random.rand(2)"),
        (False, "import numpy as np\nrng = np.random.default_rng(1)\nrng.random()"),
        (False, "import torch\ntorch.ones(2)"),
        (False, "import torch\ng = torch.Generator().manual_seed(1)\ntorch.rand(2, generator=g)"),
        (False, "class A:\n    def random(self): return 1\nprint(A().random())"),
    ],
)
def test_unseeded_randomness(*, unseeded: bool, script: str) -> None:
    assert is_unseeded(ast.parse(script)) is unseeded


@pytest.mark.parametrize(
    ("code", "unseeded"),
    [
        ("from sklearn.tree import DecisionTreeClassifier\nDecisionTreeClassifier().fit(x, y)\n", True),
        ("from sklearn.tree import DecisionTreeClassifier as T\nT(random_state=None).fit(x, y)\n", False),
        ("from sklearn.tree import DecisionTreeClassifier\nDecisionTreeClassifier(random_state=0)\n", False),
        ("import sklearn.cluster\nsklearn.cluster.KMeans(3).fit(x)\n", True),
        ("import numpy as np\nfrom sklearn.cluster import KMeans\nnp.random.seed(0)\nKMeans(3)\n", False),
        ("from sklearn.linear_model import Ridge\nRidge().fit(x, y)\n", False),
    ],
)
def test_estimators_draw_unless_they_have_a_state(code: str, unseeded: bool) -> None:  # noqa: FBT001
    assert is_unseeded(ast.parse(code)) is unseeded
