"""Bad input is refused with one clear message and exit status 2, and nothing is done."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import bare_environment, samehere
from running_command import run_here

from app.targets.planning.presets import PRESETS
from worker.contract.names import SETTINGS


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.py"
    path.write_text('# Claim: prints "1"\nprint(1)\n')
    return str(path)


def refused(home: Path, *words: str, stdin: bytes = b"") -> str:
    """The message of a refusal.

    Nothing was printed, and the home has only locks and a bwrap that others can read.
    """
    ended = run_here("reproduce", *words, environment=bare_environment(home), stdin=stdin)
    assert ended.returncode == 2, ended
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    assert [path.name for path in home.iterdir() if path.name not in {"sandbox", "locks"}] == []
    return " ".join(ended.stderr.split())


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("gone.py", None, "No such file"),
        ("empty.py", b" \n\n", "empty"),
        ("binary.py", b"\x7fELF\0\0\0", "no text"),
        ("latin.py", b"print('\xe9')\n", "UTF-8"),
        ("big.py", b"#" * (2 * 1024 * 1024), "larger than"),
        ("long.py", b"x = 1\n" * 60_000, "bytes"),
        ("wrong.py", b"print(1)\nif True\n    pass\n", "line 2"),
    ],
)
def test_a_file_that_is_no_script(
    home: Path, tmp_path: Path, name: str, content: bytes | None, says: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert says in refused(home, str(tmp_path / name))


def test_a_syntax_error_has_its_line_and_column(home: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("print(1)\nif True\n    pass\n")
    message = refused(home, str(tmp_path / "wrong.py"))
    assert "line 2" in message
    assert "column" in message


def test_a_folder(home: Path, tmp_path: Path) -> None:
    assert "folder" in refused(home, str(tmp_path))


def test_standard_input_that_is_empty(home: Path) -> None:
    assert "empty" in refused(home, "-")


def test_a_file_name_does_not_reach_the_terminal_raw(home: Path, tmp_path: Path) -> None:
    assert "\x1b" not in refused(home, str(tmp_path / "a\x1b[31m\u202e.py"))


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--preset", "none"), tuple(PRESETS)),
        (("--target", "tpu"), ("cpu", "cuda")),
        (("--target", "cpu:speed=1"), tuple(SETTINGS)),
        (("--target", "cpu:cpu-isa=mmx"), ("avx2", "sse4.2", "compatible")),
    ],
)
def test_a_name_that_does_not_exist_lists_what_exists(
    home: Path, script: str, words: tuple[str, ...], names: tuple[str, ...]
) -> None:
    message = refused(home, script, *words)
    assert [name for name in names if name not in message] == []


@pytest.mark.parametrize(
    "words",
    [
        ("--preset", "quick", "--target", "cpu"),
        ("--target", "cpu*2"),
        ("--target", "cpu:threads=0"),
        ("--target", "cpu:threads=1,threads=2"),
        ("--target", ""),
        ("--repeats", "0"),
        ("--repeats", "-1"),
        ("--repeats", "many"),
        ("--repeats", "100000"),
        ("--wall", "0"),
        ("--wall", "601"),
        ("--wall", "nan"),
        ("--memory", "1"),
        ("--as", "poem"),
        ("--isolation", "none"),
        ("--no-such-option",),
        ("--server", "ftp://localhost"),
        ("--server", "http://127.0.0.1:9", "--isolation", "limits-only"),
        ("--server", "http://127.0.0.1:9", "--wall", "3"),
    ],
)
def test_an_option_that_can_not_be_meant(home: Path, script: str, words: tuple[str, ...]) -> None:
    assert refused(home, script, *words)


@pytest.mark.parametrize("words", [("--target", "tpu"), ("--no-such-option",), ("--wall", "0")])
def test_a_process_refuses_with_the_same_words(home: Path, script: str, words: tuple[str, ...]) -> None:
    ended = samehere("reproduce", script, *words, environment=bare_environment(home))
    assert (ended.returncode, ended.stdout) == (2, "")
    # The lines before may name the program.
    message = ended.stderr.splitlines()[-1]
    assert message in run_here("reproduce", script, *words, environment=bare_environment(home)).stderr
    assert "samehere: " in message or "Error: " in message


@pytest.mark.parametrize("weaker", ["landlock+seccomp", "limits-only"])
def test_weaker_isolation_is_not_for_standard_input(home: Path, weaker: str) -> None:
    assert weaker in refused(home, "-", "--isolation", weaker, stdin=b"print(1)\n")


def test_reading_refuses_the_same(home: Path, tmp_path: Path) -> None:
    ended = run_here("read", str(tmp_path / "gone.md"), environment=bare_environment(home))
    assert (ended.returncode, ended.stdout) == (2, "")


@pytest.mark.sandbox
def test_a_machine_without_a_toolchain_names_the_command_that_builds_one(home: Path, script: str) -> None:
    ended = samehere("reproduce", script, environment=bare_environment(home))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "samehere toolchain add" in ended.stderr
