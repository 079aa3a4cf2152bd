"""Names that a script never imports, found among the public names of the packages that it is about."""

from __future__ import annotations

import importlib

import pytest

from app.intake.claim.claims import Role
from app.intake.read import read
from app.intake.words.public_names import import_of, import_of_module
from app.limits import NO_READ_LIMITS


@pytest.mark.parametrize(
    ("name", "packages", "statement"),
    [
        ("assert_array_equal", ["numpy"], "from numpy.testing import assert_array_equal"),
        ("Uniform", ["torch"], "from torch.distributions import Uniform"),
        ("Uniform", ["sympy"], "from sympy.stats import Uniform"),
        ("Linear", ["torch", "numpy"], "from torch.nn import Linear"),
        ("PCA", ["scikit-learn"], "from sklearn.decomposition import PCA"),
        ("Image", ["pillow"], "from PIL import Image"),
        ("DataFrame", [], "from pandas import DataFrame"),
        ("train_test_split", [], "from sklearn.model_selection import train_test_split"),
        ("deepcopy", ["torch"], "from copy import deepcopy"),
        ("Counter", [], "from collections import Counter"),
        # Two packages have it, or a short name says too little, or nobody has it.
        ("Uniform", ["torch", "sympy"], None),
        ("PCA", [], None),
        ("Block", ["torch"], None),
        ("load_data", ["torch"], None),
        ("Net", ["torch"], None),
    ],
)
def test_the_import_that_a_name_means(name: str, packages: list[str], statement: str | None) -> None:
    assert import_of(name, packages) == statement


def test_names_of_the_standard_library_are_there() -> None:
    for name in ("partial", "namedtuple", "dataclass", "ThreadPoolExecutor", "StringIO", "timedelta", "Mock"):
        statement = import_of(name, ["torch"])
        assert statement is not None
        module = statement.split()[1]
        assert hasattr(importlib.import_module(module), name)


def repairs_of(script: str, title: str = "it is wrong") -> list[str]:
    reading = read(
        f"# {title}\n\n```python\n{script}\n```\n\nOutput:\n\n```\n17.25\n```\n",
        form="report",
        limits=NO_READ_LIMITS,
    )
    return [repair.detail for repair in reading.scripts[0].repairs if repair.code == "missing_import"]


def test_a_script_gets_the_imports_that_it_lacks() -> None:
    script = "a = np.array([1.5])\nassert_array_equal(a, a)\nprint(a)"
    assert repairs_of(script) == [
        "Added: import numpy as np",
        "Added: from numpy.testing import assert_array_equal",
    ]


def test_the_title_names_the_package() -> None:
    assert repairs_of("print(Uniform(0., 1.).mean)", "Uniform of torch has a wrong mean") == [
        "Added: from torch.distributions import Uniform"
    ]


def test_values_and_own_names_need_no_import() -> None:
    # A name that is only read may be a value that the report left out.
    assert repairs_of("import torch\nprint(field + count)") == []
    assert repairs_of("import torch\nclass Linear: pass\nprint(Linear())") == []


def test_a_claimed_name_error_stays() -> None:
    report = (
        "# b\n\n```python\nimport numpy as np\nassert_array_equal(1, 1)\n```\n\n"
        "```\nNameError: name 'assert_array_equal' is not defined\n```\n"
    )
    (script,) = read(report, form="report", limits=NO_READ_LIMITS).scripts
    assert script.repairs == ()


def test_the_line_that_raises_stands_for_the_error() -> None:
    report = (
        "# A field is refused\n\nThe class statement dies with\n\n"
        "```\n    raise TypeError('only for `Union` types')\n```\n\n"
        "```python\nimport collections\nprint(collections.OrderedDict())\n```\n"
    )
    reading = read(report, form="report", limits=NO_READ_LIMITS)
    (check,) = reading.claim.checks
    assert (check.exception_type, check.message) == ("TypeError", "only for `Union` types")
    assert reading.scripts[0].script.startswith("import collections")
    (exhibit,) = [each for each in reading.exhibits if "raise" in each.text]
    assert report[exhibit.span.start : exhibit.span.end] == exhibit.text


def test_an_error_beside_a_statement_is_no_output() -> None:
    report = (
        "# b\n\n```python\nimport io\nio.BytesIO().load()   # OSError: file is truncated (0 bytes)\n```\n"
    )
    reading = read(report, form="report", limits=NO_READ_LIMITS)
    kinds = {check.kind.value for claim in (reading.claim, *reading.claim.further) for check in claim.checks}
    assert kinds == {"exception"}


def test_prompts_in_words_are_a_session() -> None:
    report = "# b\n\n```python\nin> import math\n\nin> math.floor(-0.5)\nout> -1\n\n```\n\nI want 0.\n"
    reading = read(report, form="report", limits=NO_READ_LIMITS)
    assert reading.scripts[0].as_given == "import math\nmath.floor(-0.5)"
    assert reading.claim.checks[0].lines == ("-1",)


def test_a_comment_below_bare_code_is_no_heading() -> None:
    report = "wrong sum\n\nExample code:\n\nimport math\nmath.fsum([0.1, 0.2])\n# 0.31\n\nThat is wrong.\n"
    reading = read(report, form="report", limits=NO_READ_LIMITS)
    assert reading.claim.checks[0].lines == ("0.31",)


def test_what_a_failed_comparison_prints_is_its_error() -> None:
    report = (
        "# b\n\n```python\nimport numpy as np\nnp.testing.assert_array_equal(np.round(2.5), 3)\n```\n\n"
        "### Error message\n\n```\nMismatched elements: 1 / 1 (100%)\n x: array(2.)\n```\n"
    )
    check = read(report, form="report", limits=NO_READ_LIMITS).claim.checks[0]
    assert (check.exception_type, check.message) == ("AssertionError", "Mismatched elements")


def test_a_line_alone_with_words_that_the_script_prints_is_its_output() -> None:
    script = 'count = 3\nprint("the value of the shared counter is %s" % count)'
    report = f"# 疑问\n\n```\n{script}\n```\n\n每次都一样:\n`the value of the shared counter is 0`\n"
    (check,) = read(report, form="report", limits=NO_READ_LIMITS).claim.checks
    assert check.lines == ("the value of the shared counter is 0",)
    expected = report.replace("每次都一样:", "It should be:")
    assert read(expected, form="report", limits=NO_READ_LIMITS).claim.having(Role.BUG) == ()


def test_a_program_in_a_quotation_ends_at_its_traceback() -> None:
    program = "import math\ndef root(x):\n    return math.sqrt(x)\nprint(root(-1.5))\n"
    traceback = (
        f"{75 * '-'}\nValueError                                Traceback (most recent call last)\n"
        "----> 3 math.sqrt(x)\n\nValueError: math domain error\n"
    )
    quotation = "".join(f"> {line}\n" for line in (program + traceback).splitlines())
    reading = read(f"resize fails\n\nSmall:\n\n{quotation}\nWhy?\n", form="report", limits=NO_READ_LIMITS)
    assert reading.scripts[0].script == program
    check = reading.claim.checks[0]
    assert (check.exception_type, check.message) == ("ValueError", "math domain error")


@pytest.mark.parametrize(
    ("name", "attributes", "packages", "statement"),
    [
        ("metrics", ["roc_auc_score"], [], "from sklearn import metrics"),
        ("metrics", ["roc_auc_score", "f1_score"], [], "from sklearn import metrics"),
        ("linear_model", ["Lasso"], [], "from sklearn import linear_model"),
        ("stats", ["norm"], ["scipy"], "from scipy import stats"),
        # One attribute is of another module, and several packages have the module.
        ("metrics", ["roc_auc_score", "Lasso"], [], None),
        ("linalg", ["norm"], [], None),
        ("metrics", [], [], None),
        ("nothing", ["norm"], [], None),
    ],
)
def test_a_module_is_known_by_its_attributes(
    name: str, attributes: list[str], packages: list[str], statement: str | None
) -> None:
    assert import_of_module(name, attributes, packages) == statement


def test_code_without_fence_and_import_is_read() -> None:
    reading = read(
        "# metrics.roc_auc_score is wrong\n\ny=[1, 0, 0]\np=[1e-9, 0, 0]\n"
        "metrics.roc_auc_score(y, p) # 0.5, wrong\n",
        form="report",
        limits=NO_READ_LIMITS,
    )
    assert [repair.detail for repair in reading.scripts[0].repairs][-1:] == [
        "Added: from sklearn import metrics"
    ]
    assert [check.lines for check in reading.claim.having(Role.BUG)] == [("0.5",)]


def test_a_name_of_a_package_that_only_has_its_version_in_the_report() -> None:
    body = "```python\nprint(Tree('a', []).pretty())\n```\n\nIt prints `17.25`.\n\n"
    with_version = read(f"# A parse is wrong\n\n{body}lark 1.1.9\n", form="report", limits=NO_READ_LIMITS)
    without = read(f"# A parse is wrong\n\n{body}", form="report", limits=NO_READ_LIMITS)
    assert with_version.scripts[0].script.startswith("from lark import Tree; ")
    assert [ask.code for ask in without.ask] == ["undefined_name"]
