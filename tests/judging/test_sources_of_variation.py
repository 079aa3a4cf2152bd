"""What makes repeats differ: only a cell that cures it names it. And the table of defects."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from judging_builders import CPU, CUDA, check, claim, result, script

from app.intake.claim.claims import CheckKind, Claim
from app.intake.code.randomness import sources_of
from app.intake.reading import Reading, Script
from app.judging.cause.defect import CAUSES, defect_of, missing_for, order_of
from app.judging.judgement import Defect, JudgedCell
from app.judging.verdict.job import judge_job
from app.judging.verdict.run import RunJudgement, judge_run
from app.search.fields import FIELDS
from app.targets.planning.cause_tests import cause_tests, variation_tests
from app.targets.target import Target
from worker.contract import Result

VARIES = claim(check(CheckKind.VARIES, "another result every time"))
RNG = "import numpy as np\nprint(np.random.default_rng().random())\n"
DISTINCT = [f"{number}.5\n" for number in range(6)]


def judged(code: Script, told: Claim, cells: dict[str, Sequence[Result | str]]) -> RunJudgement:
    """A run with these results by setting; `""` is the plain target."""
    judged_cells = []
    for setting, shown in cells.items():
        name, _, value = setting.partition("=")
        target = CPU.model_copy(update={"settings": {name: value} if name else {}})
        results = tuple(
            (result(each) if isinstance(each, str) else each).model_copy(update={"attempt_id": f"a{number}"})
            for number, each in enumerate(shown)
        )
        judged_cells.append(cell(code, told, target, results))
    return judge_run(Reading(scripts=(code,), claim=told), judged_cells)


def cell(code: Script, told: Claim, target: Target, results: tuple[Result, ...]) -> JudgedCell:
    judgement = judge_job(told, code, target, results)
    return JudgedCell(
        job_id=target.label(), script=code.digest, target=target, judgement=judgement, results=results
    )


@pytest.mark.parametrize(
    ("setting", "cause", "source"),
    [
        ("fix=numpy-generator", "unseeded", "numpy.random.default_rng"),
        ("fix=numpy-legacy", "unseeded", "numpy.random"),
        ("fix=python", "unseeded", "random"),
        ("fix=torch", "unseeded", "torch"),
        ("fix=generators", "unseeded", "random, numpy.random and torch"),
        ("seed=0", "unseeded", "random, numpy.random and torch"),
        ("fix=hash", "hash_order", "PYTHONHASHSEED"),
        ("fix=clock", "clock", "time"),
        ("fix=files", "file_order", "os.listdir"),
        ("threads=1", "thread_order", "threads"),
        ("deterministic=on", "nondeterministic_kernel", ""),
    ],
)
def test_the_setting_that_cures_it_names_the_source(setting: str, cause: str, source: str) -> None:
    run = judged(script(RNG, unseeded=True), VARIES, {"": DISTINCT, setting: ["0.5\n"] * 5})
    assert (run.cause, run.finding.source, run.finding.test) == (
        cause, source, CPU.model_copy(update={"settings": dict([setting.split("=")])}).label(),
    )  # fmt: skip


@pytest.mark.parametrize(
    "test",
    [
        DISTINCT,
        ["0.5\n"],
        # The setting breaks the script: equal errors cure nothing.
        [result(raised=("TypeError", "no"))] * 5,
        [],
    ],
)
def test_a_setting_that_does_not_cure_it_names_nothing(test: Sequence[Result | str]) -> None:
    run = judged(script(RNG, unseeded=True), VARIES, {"": DISTINCT, "fix=numpy-generator": test})
    assert (run.cause, run.defect) == ("not_analysed", "undecided")
    assert run.finding.missing


def test_too_few_repeats_may_agree_by_chance() -> None:
    plain: list[Result | str] = ["fine\n"] * 14 + [result(raised=("AssertionError", "lost"))] * 6
    told = claim(check(CheckKind.EXCEPTION, "AssertionError: lost", exception_type="AssertionError"))
    for count, cause in ((5, None), (12, "unseeded")):
        run = judged(script(RNG), told, {"": plain, "fix=numpy-generator": ["fine\n"] * count})
        assert run.cause == cause
    # The seed decides when it fails, and says nothing about whether it may.
    assert (run.defect, len(run.finding.missing)) == ("undecided", 1)


def test_two_repeats_are_enough_where_torch_documents_the_operation() -> None:
    code = "import torch\nx = torch.zeros(3, device='cuda')\nprint(x.index_add(0, i, y)[0])\n"
    cells: dict[str, Sequence[Result | str]] = {"": DISTINCT[:2], "deterministic=on": ["1.5\n"] * 2}
    run = judged(script(code), VARIES, cells)
    assert (run.cause, run.defect) == ("nondeterministic_kernel", "no")
    assert judged(script(RNG), VARIES, cells).cause != "nondeterministic_kernel"


SLIGHT = ["1.50001\n", "1.50002\n", "1.50001\n"]
REFUSED = result(
    raised=(
        "RuntimeError",
        "grid_sampler_2d_backward_cuda does not have a deterministic implementation, but you set it.",
    )
)


@pytest.mark.parametrize(
    ("on_card", "on_cpu", "with_it", "cause"),
    [
        (SLIGHT, ["1.5\n"] * 3, [REFUSED], "nondeterministic_kernel"),
        # As a race may make it, and not the order of a sum.
        (DISTINCT[:3], ["1.5\n"] * 3, [REFUSED], "not_analysed"),
        (["1.5\n", "nan\n"], ["1.5\n"] * 3, [REFUSED], "not_analysed"),
        (["1.5\n", "1.5 1.5\n"], ["1.5\n"] * 3, [REFUSED], "not_analysed"),
        (["a\n", "b\n"], ["1.5\n"] * 3, [REFUSED], "not_analysed"),
        # The script may bring the variation itself.
        (SLIGHT, ["1.5\n", "2.5\n", "1.5\n"], [REFUSED], "not_analysed"),
        (SLIGHT, ["1.5\n"], [REFUSED], "not_analysed"),
        (SLIGHT, [], [REFUSED], "not_analysed"),
        (SLIGHT, ["1.5\n"] * 3, [REFUSED, result(raised=("RuntimeError", "no"))], "not_analysed"),
    ],
)
def test_torch_refuses_the_operation_that_varies(
    on_card: Sequence[str], on_cpu: Sequence[str], with_it: Sequence[Result], cause: str
) -> None:
    code = script("import torch\nprint(torch.nn.functional.grid_sample(a, b).sum())\n")
    deterministic = CUDA.model_copy(update={"settings": {"deterministic": "on"}})
    rows = ((CUDA, map(result, on_card)), (deterministic, with_it), (CPU, map(result, on_cpu)))
    cells = [cell(code, VARIES, target, tuple(results)) for target, results in rows]
    run = judge_run(Reading(scripts=(code,), claim=VARIES), cells)
    named = cause == "nondeterministic_kernel"
    assert (run.cause, run.defect) == (cause, "no" if named else "undecided")
    assert run.finding.source == ("grid_sampler_2d_backward_cuda" if named else "")


def test_the_text_of_a_script_names_a_source_only_without_a_test_and_decides_nothing() -> None:
    code = script(RNG, unseeded=True)
    run = judged(code, VARIES, {"": DISTINCT})
    assert (run.cause, run.defect, run.finding.source) == ("unseeded", "undecided", "")
    assert run.finding.missing
    cured = judged(code, VARIES, {"": DISTINCT, "fix=numpy-generator": ["0.5\n"] * 5})
    assert (cured.cause, cured.defect, cured.finding.missing) == ("unseeded", "no", ())


def test_entropy_of_the_system_is_named_and_has_no_cure() -> None:
    code = script("import uuid\nprint(uuid.uuid4())\n", unseeded=True)
    run = judged(code, VARIES, {"": DISTINCT, "fix=hash": DISTINCT})
    assert (run.cause, run.defect) == ("system_entropy", "undecided")


def test_without_a_claim_entropy_is_named_where_repeats_differ() -> None:
    code = script("import uuid\nprint(uuid.uuid4())\n", unseeded=True)
    assert judged(code, claim(), {"": DISTINCT}).cause == "system_entropy"
    assert judged(code, claim(), {"": ["1.5\n"] * 3}).cause is None
    assert judged(script("print(1)\n"), claim(), {"": DISTINCT}).cause is None


@pytest.mark.parametrize(
    ("plain", "filled", "cause"),
    [
        (["4.0\n", "nan\n", "7.0\n"], ["nan\n"] * 3, "uninitialised_memory"),
        (["4.0\n"] * 3, ["nan\n"], "uninitialised_memory"),
        # NaN that come with or without the filling are no sign of it.
        (["4.0\n", "nan\n", "7.0\n"], ["nan\n", "nan 2.0\n", "nan\n"], None),
        (["4.0\n", "nan\n", "7.0\n"], ["nan\n"], None),
        (["nan\n"] * 3, ["nan\n"] * 3, None),
        (["4.0\n", "nan\n", "7.0\n"], ["nan\n", "5.0\n", "nan\n"], None),
    ],
)
def test_memory_that_nobody_wrote_may_hold_nan_by_chance(
    plain: list[str], filled: list[str], cause: str | None
) -> None:
    code = script("import torch\nprint(torch.empty(3).sum().item())\n")
    assert judged(code, claim(), {"": plain, "fill=nan": filled}).cause == cause


def test_a_cell_that_fixes_a_source_is_no_evidence_about_the_claim() -> None:
    told = claim(check(CheckKind.EXCEPTION, "AssertionError: lost", exception_type="AssertionError"))
    lost = result(raised=("AssertionError", "lost"))
    run = judged(script(RNG), told, {"": ["fine\n"] * 20, "fix=numpy-generator": [lost]})
    assert run.verdict == "not_reproduced"


@pytest.mark.parametrize(
    ("code", "sources"),
    [
        ("import numpy as np\nnp.random.default_rng()", {"numpy-generator", "threads"}),
        ("from numpy.random import default_rng\nr = default_rng(None)", {"numpy-generator", "threads"}),
        ("import numpy as np\nnp.random.default_rng(0)", {"threads"}),
        ("import numpy as np\nnp.random.default_rng(0)\nnp.random.rand()", {"numpy-legacy", "threads"}),
        ("from numpy.random import rand\nrand(3)", {"numpy-legacy", "threads"}),
        ("import numpy as np\nnp.random.seed(0)\nnp.random.rand()", {"threads"}),
        ("import numpy as np\nnp.random.Generator(np.random.PCG64())", {"numpy-generator", "threads"}),
        ("import random\nrandom.random()", {"python"}),
        ("import random\nrandom.Random().random()", {"python"}),
        ("import random\nrandom.seed(1)\nrandom.random()", set()),
        ("import torch\ntorch.rand(2)", {"torch", "threads"}),
        ("import torch\ntorch.manual_seed(1)\ntorch.rand(2)", {"threads"}),
        ("import torch\ntorch.nn.functional.dropout(torch.ones(9), 0.5)", {"torch", "threads"}),
        ("import torch.nn.functional as F\nF.gumbel_softmax(x)", {"torch", "threads"}),
        ("from torch import nn\nnn.Dropout2d(0.1)(x)", {"torch", "threads"}),
        ("import torch.nn.functional as F\nF.dropout(x, training=False)", {"threads"}),
        ("import torch, torch.nn.functional as F\ntorch.manual_seed(1)\nF.dropout(x)", {"threads"}),
        ("import mine\nmine.dropout(x)", set()),
        ("print(list({'a', 'b'}))", {"hash"}),
        ("import time\nprint(time.time())", {"clock"}),
        ("from datetime import datetime\nprint(datetime.now())", {"clock"}),
        ("import os\nprint(os.listdir('.'))", {"files"}),
        ("import os\nprint(os.urandom(3))", {"entropy"}),
        ("from uuid import uuid4\nprint(uuid4())", {"entropy"}),
        ("def broken(:", set()),
    ],
)
def test_the_sources_that_a_script_may_have(code: str, sources: set[str]) -> None:
    assert set(sources_of(code)) == sources


def test_each_source_gets_a_cell_only_where_repeats_are_claimed_to_differ() -> None:
    code = script("import numpy as np, random\nprint(np.random.default_rng().random() + random.random())")
    settings = [{"fix": "numpy-generator"}, {"fix": "python"}, {"threads": "1"}, {"fix": "generators"}]
    assert list(variation_tests(code)) == settings
    planned = [each for _, each in cause_tests(VARIES, code)]
    assert all(each in planned for each in settings)
    sometimes = claim(check(CheckKind.EXCEPTION, "E", exception_type="E"), text="it sometimes fails with E")
    assert {"fix": "python"} in [each for _, each in cause_tests(sometimes, code)]
    assert {"threads": "1"} not in [each for _, each in cause_tests(sometimes, code)]
    always = claim(check(CheckKind.EXCEPTION, "E", exception_type="E"), text="it fails with E")
    assert not [each for _, each in cause_tests(always, code) if "fix" in each]


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_is_in_the_table_the_search_and_decided_or_says_what_is_missing(cause: str) -> None:
    assert FIELDS["cause"].read(cause) == cause
    assert defect_of(cause) is not Defect.UNDECIDED or missing_for(cause) or cause == "not_analysed"


def test_the_first_cause_in_the_table_explains() -> None:
    order = (
        "uninitialised_memory",
        "unexplained",
        "code_generation",
        "random_streams",
        "rounding",
        "announced",
    )
    assert sorted(order, key=order_of) == list(order)
    assert defect_of("nondeterministic_kernel") is Defect.UNDECIDED
    assert defect_of("nondeterministic_kernel", documented=True) is Defect.NO
