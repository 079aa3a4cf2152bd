"""`python -m tests.mini [--accept] [NAME…]`: run mini reports; --accept writes their answers as expected."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mini_reports import DEFAULT_OPTIONS, expectation, mini_reports, run_mini


def main() -> int:
    """0 if every answer was expected, or was accepted."""
    parser = argparse.ArgumentParser(prog="python -m tests.mini", description="Run the mini reports.")
    parser.add_argument("names", nargs="*", help="only these")
    parser.add_argument(
        "--accept", action="store_true", help="write what is said now as what is expected; read the diff"
    )
    given = parser.parse_args()
    failed = 0
    for folder in mini_reports():
        if given.names and folder.name not in given.names:
            continue
        before = expectation(folder)
        stable = run_mini(folder)
        same = stable == before.get("stable")
        if given.accept and not same:
            whole = {
                "options": before.get("options", DEFAULT_OPTIONS),
                "varies": before.get("varies", []),
                "stable": stable,
            }
            (folder / "expected.json").write_text(json.dumps(whole, indent=1, ensure_ascii=True) + "\n")
        failed += not same
        print(  # noqa: T201
            "as expected" if same else "accepted" if given.accept else "OTHERWISE",
            folder.name,
            stable.get("verdict"),
        )
    return int(failed > 0 and not given.accept)


if __name__ == "__main__":
    sys.exit(main())
