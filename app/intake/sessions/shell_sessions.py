"""Reads shell sessions that show their script: by `cat`, a here-document, or `python -c`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_COMMANDS = (
    r"conda|mamba|pip3?|git|apt(?:-get)?|sudo|cd|export|docker|wget|curl|source|python3?(?:\.\d+)?"
    r"|torchrun|bash|uv|nvidia-smi"
)
# The beginning of a line that was typed at the prompt of a shell.
SHELL = re.compile(
    r"\s*(?:[\w.@:~/-]{0,80}\$ +|% +(?=\w)|\([\w.-]+\) +\S{0,80}\$ *|> *(?=python|pip|conda)"
    # A name with a bare number behind it may be a printed value.
    rf"|(?=(?:{_COMMANDS})\s+(?!-?\d+(?:\.\d*)?\s*$)[\w./-])|(?=cat >)"
    rf"|(?=(?:[A-Z][A-Z0-9_]{{2,60}}=\S{{1,60}} ){{1,4}}(?:{_COMMANDS})\s+[\w./-])"
    # Prompts of zsh and fish with a sign of their own, of Windows, and of root.
    r"|(?:\([\w.-]{1,40}\) ?)?(?:[\w.@:~/-]{0,60} )?[➜\u276fλ⟩▶] +(?=\S)"
    r"|(?:\([\w.-]{1,40}\) ?)?(?:PS )?[A-Za-z]:[\\/][^\n<>|]{0,120}> ?(?=\S)"
    rf"|(?:\([\w.-]{{1,40}}\) ?)?\[?\w[\w.-]{{0,40}}@[\w.-]{{1,60}}\]?[: ][^\n]{{0,80}}?"
    rf"\]?[#%] ?(?=(?:{_COMMANDS}|cat)\b))"
)
# The prompt below the last output, at which nothing was typed.
_BARE_PROMPT = re.compile(
    r"(?:PS )?[A-Za-z]:[\\/][^\n<>|]{0,120}>[ \t]*|[\w.@:~/-]{1,80}[$#][ \t]*|[$#%>][ \t]*"
)
_SIGNS = ("$", "#", "%", ">")
_SHOWS = re.compile(r"\b(?:cat|more|less|bat|type)\b[^|<>&;\n]{1,200}\.py\s*$")
_HERE = re.compile(
    r"(?:\bcat\b[^<\n]{0,200}|\bpython[\d.]*(?: -)?"
    r"|\btee\b[^<\n]{0,200})\s*<<-?\s*(['\"]?)(?P<end>\w{1,40})\1"
)
_INLINE = re.compile(r"\bpython[\d.]* (?:-[A-Zu] )*-c\s*(?P<quote>['\"])(?P<code>.*)")
# Another command before the question, on the same line.
_RUNS_TOO = re.compile(r"\w[^;&|\n]{0,300}(?:;|&&|\|\|)\s*echo\b")
_ASKS_STATUS = re.compile(
    r"(?:^|[\s;&])(?:echo\s+[\"']?(?:[\w ]{0,20}[:=]? ?)?(?:\$\?|%errorlevel%|\$lastexitcode)[\"']?"
    r"|\$lastexitcode)\s*$",
    re.IGNORECASE,
)
_STATUS = re.compile(r"\s*(?:[A-Za-z ]{1,20}[:=]? ?)?(-?\d{1,10})\s*$")
_MOST_LINES = 5_000
_MOST_COMMAND = 2_000
# A command that starts a script, and one that only prepares.
_RUNS = re.compile(r"\.py\b|\bpython[\d.]* (?:-[A-Zu] )*-[cm]\b")
_PREPARES = re.compile(
    r"\b(?:pip3?|uv|conda|mamba|git)\b[^|;&]{0,40}\b(?:install|checkout|switch|list|freeze|show)\b"
)
# `python3.12 t.py`, `uv run -p 3.12 t.py`, `docker run python:3.12 …`, `pip install numpy==1.26.4`.
_OF_PYTHON = re.compile(
    r"(?<![\w.])(?:python:?(?=\d\.\d)|py -(?=\d\.\d)|(?:-p|--python)[ =](?:python)?)"
    r"(?P<version>\d\.\d{1,2})(?:\.\d{1,2})?(?:-\w{1,20})?"
)
# `tox -e py313`, `nox -s tests-3.13`, and the name of an environment before the prompt.
_OF_TOX = re.compile(r"\b[tn]ox\b[^\n]{0,200}?(?:py|-)(?P<major>3)\.?(?P<minor>\d{1,2})\b")
_OF_PROMPT = re.compile(r"\s*\((?P<name>[\w.-]{1,40})\) ?\S{0,80}[$%#>] ?")
# `X=1 python t.py`, `python -O t.py`.
_SETTING = re.compile(
    r"(?<![\w.-])(?:(?:set |export )?[A-Z][A-Z0-9_]{2,60}=\S{0,60}(?: &&)? (?=\S)"
    r"|-(?:O{1,2}|B|E|I|S|u|X \w+|W \w+) (?=\S))"
)
_OF_PACKAGE = re.compile(r"(?<![\w.])(?P<package>[A-Za-z][\w-]{1,40})==(?P<version>\d[\w.]{0,12})")
# `for i in {1..10}; do python t.py; done`, `seq 5 | xargs -I{} python t.py`, with the count or each number.
_LOOP = re.compile(
    r"\bfor \w{1,20} in (?:[`$(]{1,2}seq (?:1 )?(?P<seq>\d{1,3})[`)]|\{1\.\.(?P<braces>\d{1,3})\}"
    r"|(?P<each>\w{1,6}(?: \w{1,6}){1,40})) ?; ?do [^\n]{0,300}?\bpython[^\n]{0,300}; ?done"
    r"|\bseq (?:1 )?(?P<piped>\d{1,3}) ?\| ?xargs [^\n]{0,100}\bpython\b"
)
# The words that introduce the output of one of several starts of the same command.
REPEATED = "One of several runs:"


@dataclass(frozen=True, slots=True)
class Piece:
    """The contents of a block. `transcript`: the code was typed at a prompt."""

    code: str = ""
    output: str = ""
    commands: str = ""
    transcript: bool = False
    # The code stands in a shell session.
    session: bool = False
    # Answers below the comments of a session, if there are several: (comment such as `On GPU`, lines).
    answers: tuple[tuple[str, str], ...] = ()
    # The exit status that a shell answered.
    status: str = ""


def without_status(lines: Sequence[str], are_commands: Sequence[bool]) -> tuple[str, list[str], list[bool]]:
    """The last exit status that the session asks for, and the lines without these answers."""
    status, rest = "", list[int]()
    is_question = False
    last_answers = _answers_behind_output(lines, are_commands)
    for at, line in enumerate(lines):
        if at in last_answers:
            status = last_answers[at]
            continue
        answer = _STATUS.match(line) if is_question and not are_commands[at] else None
        if answer:
            status, is_question = answer[1], False
            continue
        rest.append(at)
        if line.strip():
            is_question = (
                are_commands[at]
                and _ASKS_STATUS.search(line[-200:]) is not None
                and _RUNS_TOO.search(line) is None
            )
    return status, [lines[at] for at in rest], [are_commands[at] for at in rest]


def _answers_behind_output(lines: Sequence[str], are_commands: Sequence[bool]) -> dict[int, str]:
    """{line: status} for `python x.py; echo $?`: the answer is the last line of its output."""
    starts = [at for at, is_command in enumerate(are_commands) if is_command]
    answers: dict[int, str] = {}
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        line = lines[start][-400:]
        if not (_ASKS_STATUS.search(line) and _RUNS_TOO.search(line)):
            continue
        last = next((at for at in range(end - 1, start, -1) if lines[at].strip()), None)
        match = None if last is None else _STATUS.match(lines[last])
        if last is not None and match:
            answers[last] = match[1]
    return answers


def answers_of_repeated_command(
    lines: Sequence[str], are_commands: Sequence[bool]
) -> tuple[tuple[str, str], ...]:
    """(command, output) of each start, if the session does nothing but start one command several times."""
    starts = [at for at, is_command in enumerate(are_commands) if is_command]
    if len(starts) == 1:
        return _answers_of_loop(lines[starts[0]], lines[starts[0] + 1 :])
    if len(starts) < 2 or len({lines[at].strip() for at in starts}) > 1:
        return ()
    ends = [*starts[1:], len(lines)]
    return tuple(
        (REPEATED, "\n".join(lines[start + 1 : end]).strip()) for start, end in zip(starts, ends, strict=True)
    )


def _answers_of_loop(command: str, below: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """(command, output) of each start in a loop of the shell, which all print the same number of lines."""
    loop = _LOOP.search(command[:_MOST_COMMAND])
    if loop is None:
        return ()
    count = len(loop["each"].split()) if loop["each"] else int(loop["seq"] or loop["braces"] or loop["piped"])
    lines = [line for line in below if line.strip()]
    size = len(lines) // count if count else 0
    if not size or len(lines) != size * count:
        return ()
    return tuple((REPEATED, "\n".join(lines[at : at + size])) for at in range(0, len(lines), size))


def answers_of_variants(lines: Sequence[str], are_commands: Sequence[bool]) -> tuple[tuple[str, str], ...]:
    """(words, output) of each start of one script, if each has another version, or others a setting."""
    starts = [at for at, is_command in enumerate(are_commands) if is_command]
    answers: list[tuple[str, str]] = []
    scripts: set[str] = set()
    version = ""
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        command = lines[start][-_MOST_COMMAND:]
        match = _OF_PYTHON.search(command) or _OF_PACKAGE.search(command)
        if match:
            version = f"{match.groupdict().get('package') or 'python'} {match['version']}:"
        elif tox := _OF_TOX.search(command):
            version = f"python {tox['major']}.{tox['minor']}:"
        elif prompt := _OF_PROMPT.match(command):
            version = f"Environment {prompt['name']}:"
        if not (_RUNS.search(command) or _OF_TOX.search(command)) or _SHOWS.search(command):
            continue
        settings = [setting[0].strip() for setting in _SETTING.finditer(command)]
        words = f"With `{' '.join(settings)}`:" if settings and not version else version
        scripts.add(_bare_command(command))
        answers.append((words, "\n".join(lines[start + 1 : end]).strip()))
    different = {words for words, _ in answers}
    is_told = len(answers) > 1 and len(different) == len(answers) and (not version or "" not in different)
    return tuple(answers) if is_told and len(scripts) == 1 else ()


def _bare_command(command: str) -> str:
    """The command without its prompt, its settings and its versions."""
    for pattern, word in (
        (_OF_PROMPT, ""),
        (_OF_PYTHON, "python"),
        (_OF_PACKAGE, ""),
        (_OF_TOX, "tox"),
        (_SETTING, ""),
    ):
        command = pattern.sub(word, command)
    return command.strip()


def shell_session(lines: Sequence[str], are_commands: Sequence[bool]) -> Piece | None:
    """The session's script, output and commands; None if no command shows a script."""
    code: list[str] = []
    output: list[str] = []
    commands: list[str] = []
    at = 0
    lines = lines[:_MOST_LINES]
    is_shown, is_inline = True, False
    while at < len(lines):
        line = lines[at]
        at += 1
        if not are_commands[at - 1]:
            is_bare = line.rstrip().endswith(_SIGNS) and _BARE_PROMPT.fullmatch(line) is not None
            output += [line] if is_shown and not is_bare else []
            continue
        commands.append(line)
        is_shown = not code or _PREPARES.search(line) is None
        if code:
            more, at = _further_argument(line, lines, at, output) if is_inline else ([], at)
            code += [] if more == code[-len(more) :] else more
            continue
        if here := _HERE.search(line):
            end = next(
                (number for number in range(at, len(lines)) if lines[number].strip() == here["end"]),
                len(lines),
            )
            code, at = list(lines[at:end]), end + 1
        elif inline := _INLINE.search(line):
            code, at = _quoted_argument(inline["code"], inline["quote"], lines, at)
            is_inline = True
        elif _SHOWS.search(line):
            end = next((number for number in range(at, len(lines)) if are_commands[number]), len(lines))
            code, at = list(lines[at:end]), end
    if not any(line.strip() for line in code):
        return None
    return Piece(
        code="\n".join(code), output="\n".join(output).strip("\n"), commands="\n".join(commands), session=True
    )


def _further_argument(
    line: str, lines: Sequence[str], at: int, output: Sequence[str]
) -> tuple[list[str], int]:
    """The code of a further `python -c`, unless there was an error, and the number of the line below it."""
    inline = _INLINE.search(line)
    if (
        inline is None
        or "__version__" in line
        or any(each.startswith("Traceback (most recent") for each in output)
    ):
        return [], at
    return _quoted_argument(inline["code"], inline["quote"], lines, at)


def inline_code(command: str) -> str:
    """The code that a command on one line gives to Python; the command if it gives none."""
    match = _INLINE.search(command[:_MOST_COMMAND])
    code = _quoted_argument(match["code"], match["quote"], (), 0)[0] if match else []
    return code[0] if code else command


def _quoted_argument(first: str, quote: str, lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """The lines of an argument up to its closing quote, and the number of the next line."""
    lines_of_code = [first]
    while not lines_of_code[-1].rstrip().endswith(quote) and at < len(lines):
        lines_of_code.append(lines[at])
        at += 1
    if not lines_of_code[-1].rstrip().endswith(quote):
        return [], at
    lines_of_code[-1] = lines_of_code[-1].rstrip()[:-1]
    return lines_of_code, at
