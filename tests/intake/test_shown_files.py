"""Files that a report shows beside its script: data that it reads, modules that it imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from default_limits import read

from app.intake.claim.claims import Role
from app.intake.reading import Reading

TABLE = "a;b\n1;x\n2;y"
SCRIPT = "import csv\n\nwith open('table.csv') as f:\n    print(len(list(csv.reader(f, delimiter=';'))))"


def reading_of(*pieces: str) -> Reading:
    return read("# The number of rows is wrong\n\n" + "\n\n".join(pieces) + "\n", form="report")


def fence(text: str, tag: str = "") -> str:
    return f"```{tag}\n{text}\n```"


def output_of(reading: Reading, folder: Path) -> str:
    script = reading.scripts[0].script
    path = folder / "script.py"
    path.write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(path)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def codes_of(reading: Reading) -> list[str]:
    return [repair.code for repair in reading.scripts[0].repairs]


@pytest.mark.parametrize(
    "above",
    [
        *(
            "table.csv:",
            "**table.csv**",
            "### table.csv",
            "`table.csv`",
            "The file `table.csv`:",
            "2. table.csv",
        ),
        *(
            "Contents of table.csv:",
            "with a file table.csv that contains:",
            "where `./table.csv` looks like this:",
        ),
        *(
            "Inhalt von table.csv:",
            "Ich habe eine Datei table.csv, sie enthält:",
            "Le fichier table.csv contient :",
        ),
        "Save this as table.csv:",
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_a_file_that_words_name_is_written_before_the_script(
    above: str, *, first: bool, tmp_path: Path
) -> None:
    file = f"{above}\n\n{fence(TABLE)}"
    pieces = [file, "Run:", fence(SCRIPT, "python")] if first else [fence(SCRIPT, "python"), file]
    reading = reading_of(*pieces, "It prints `4`, not `3`.")
    assert codes_of(reading) == ["shown_file"]
    assert reading.ask == ()
    assert reading.scripts[0].needs == ()
    assert output_of(reading, tmp_path) == "3\n"
    assert (tmp_path / "table.csv").read_text() == TABLE + "\n"
    # The script's lines keep their numbers, and its data are no output.
    assert reading.scripts[0].script.split("\n")[2] == SCRIPT.split("\n")[2]
    assert all("a;b" not in line for check in reading.claim.checks for line in check.lines)


@pytest.mark.parametrize("first_line", ["# table.csv", "// table.csv", "# File: table.csv", "-- `table.csv`"])
def test_a_file_may_be_named_on_its_first_line(first_line: str, tmp_path: Path) -> None:
    reading = reading_of(fence(SCRIPT, "python"), fence(f"{first_line}\n{TABLE}"), "It prints `4`.")
    assert output_of(reading, tmp_path) == "3\n"


def test_a_session_may_show_a_file(tmp_path: Path) -> None:
    session = f"$ cat table.csv\n{TABLE}\n$ python t.py\n4"
    reading = reading_of(fence(SCRIPT, "python"), fence(session))
    assert output_of(reading, tmp_path) == "3\n"
    assert [check.lines for check in reading.claim.having(Role.BUG)] == [("4",)]


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("shapes", "from shapes import area"),
        ("shapes", "from .shapes import area"),
        ("utils", "from utils import area"),
    ],
)
def test_a_module_of_the_reporter_is_written_too(name: str, statement: str, tmp_path: Path) -> None:
    module = "def area(a, b):\n    return a * b"
    script = f"{statement}\n\nprint(area(2, 3))"
    reading = reading_of(f"{name}.py:\n\n{fence(module, 'python')}", f"main.py:\n\n{fence(script, 'python')}")
    assert [each.role.value for each in reading.scripts] == ["main"]
    assert codes_of(reading) == ["shown_file"]
    assert reading.scripts[0].needs == ()
    assert reading.ask == ()
    if "from ." not in statement:
        assert output_of(reading, tmp_path) == "6\n"


def test_a_file_in_a_folder(tmp_path: Path) -> None:
    script = (
        "import json\nfrom pathlib import Path\n\nprint(json.loads(Path('conf/a.json').read_text())['n'])"
    )
    reading = reading_of("a.json:", fence('{"n": 5}', "json"), fence(script, "python"))
    assert output_of(reading, tmp_path) == "5\n"


def test_imports_from_the_future_stay_first(tmp_path: Path) -> None:
    script = f'"""A table."""\nfrom __future__ import annotations\n{SCRIPT}'
    assert output_of(reading_of("table.csv:", fence(TABLE), fence(script, "python")), tmp_path) == "3\n"


@pytest.mark.parametrize(
    ("above", "script"),
    [
        # The output of a script, and a file that no code opens.
        ("Running table.csv through it prints:", SCRIPT),
        ("table.csv gives this error:", SCRIPT),
        ("other.csv:", SCRIPT),
        ("table.csv:", "print(1)"),
        # A path of the reporter's machine can't be written.
        ("table.csv:", SCRIPT.replace("table.csv", "/home/me/table.csv")),
        ("table.csv:", SCRIPT.replace("table.csv", "../table.csv")),
    ],
)
def test_other_blocks_are_no_files(above: str, script: str) -> None:
    reading = reading_of(fence(script, "python"), f"{above}\n\n{fence(TABLE)}")
    assert "shown_file" not in codes_of(reading)


def test_a_hostile_text_is_only_text(tmp_path: Path) -> None:
    text = "'\"\"\"\\'); print('ran')\n\\N{BULLET}\u2028\x85\n{x!r}"
    script = "print(len(open('table.csv', encoding='utf-8', newline='').read()))"
    reading = reading_of(fence(script, "python"), "table.csv:", fence(text))
    assert output_of(reading, tmp_path) == f"{len(text) + 1}\n"


def test_many_files_take_little_time() -> None:
    pieces = [piece for at in range(3_000) for piece in (f"f{at}.csv:", fence(f"{at}"))]
    reading = reading_of(fence(SCRIPT, "python"), *pieces)
    assert "shown_file" not in codes_of(reading)
