"""Results on disk outlive a write that was cut off."""

from __future__ import annotations

from pathlib import Path

from worker.contract import Outcome, Result
from worker.node.spool import Spool


def test_a_spool_survives_what_is_cut_off(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    kept = spool.add(Result(node="n", instance="i", attempt_id="a", lease_no=1, outcome=Outcome.COMPLETED))
    (tmp_path / "000000000009.result.writing").write_text("{")
    (tmp_path / "000000000008.result.json").write_text("{")
    again = Spool(tmp_path)
    pending = again.pending()
    assert pending[0] == kept
    read = [again.read(path) for path in pending]
    assert [result.attempt_id if result else None for result in read] == ["a", None]
    assert again.pending() == [kept]
    newer = again.add(Result(node="n", instance="i", attempt_id="b", lease_no=1, outcome=Outcome.COMPLETED))
    assert again.pending() == [kept, newer]
