"""Scripts that make cards visible get them numbered from 0 on, as a node grants them."""

from __future__ import annotations

import pytest
from default_limits import read

USE = "import torch\nprint(torch.ones(1).cuda())\n"


def script_of(line: str, *, title: str = "Wrong on the second card") -> tuple[str, list[str]]:
    text = f"```python\nimport os\n{line}\n{USE}```\n\nprints `tensor([2.], device='cuda:0')`\n"
    script = read(text, form="report", title=title).scripts[0]
    return script.script.split("\n")[1], [repair.code for repair in script.repairs]


@pytest.mark.parametrize(
    ("line", "run"),
    [
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "1"', 'os.environ["CUDA_VISIBLE_DEVICES"] = "0"'),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '2, 3'", "os.environ['CUDA_VISIBLE_DEVICES'] = \"0,1\""),
        (
            'os.environ.setdefault("CUDA_VISIBLE_DEVICES", "7")',
            'os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")',
        ),
        ('os.environ.update(CUDA_VISIBLE_DEVICES="1")', 'os.environ.update(CUDA_VISIBLE_DEVICES="0")'),
        (
            'os.environ["CUDA_VISIBLE_DEVICES"] = "GPU-8932f937-d72c"',
            'os.environ["CUDA_VISIBLE_DEVICES"] = "0"',
        ),
        ('"ä"; os.putenv("CUDA_VISIBLE_DEVICES", "1")', '"ä"; os.putenv("CUDA_VISIBLE_DEVICES", "0")'),
    ],
)
def test_cards_are_numbered_from_0(line: str, run: str) -> None:
    assert script_of(line) == (run, ["visible_cards"])


@pytest.mark.parametrize(
    "line",
    [
        'os.environ["CUDA_VISIBLE_DEVICES"] = "0"',
        'os.environ["CUDA_VISIBLE_DEVICES"] = ""',
        'os.environ["CUDA_VISIBLE_DEVICES"] = "-1"',
        'os.environ["CUDA_VISIBLE_DEVICES"] = str(1)',
        'os.environ["CUDA_DEVICE_ORDER"] = "1"',
        'os.environ["CUDA_VISIBLE_DEVICES"] = "1"; os.environ["CUDA_VISIBLE_DEVICES"] = "2"',
    ],
)
def test_other_values_stay(line: str) -> None:
    assert script_of(line) == (line, [])


def test_a_claim_about_the_variable_is_tried_with_its_value() -> None:
    line = 'os.environ["CUDA_VISIBLE_DEVICES"] = "1"'
    assert script_of(line, title="CUDA_VISIBLE_DEVICES has no effect after the import") == (line, [])
