"""Runs the command line in this process, which spares a start of Python with all imports."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from unittest import mock

from app import cli


def run_here(
    *words: str, environment: Mapping[str, str], stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    """The answer of `samehere` with these words: the same function as in a process, and nothing replaced
    but arguments, variables and standard streams. A web in a thread of this process would write its log
    among the answer: start a process for commands that ask one.
    """
    output, errors = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(sys, "argv", ["samehere", *words]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8")),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        status = 0
        try:
            cli.main()
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    texts = [stream.buffer.getvalue().decode() for stream in (output, errors)]
    return subprocess.CompletedProcess(list(words), status, *texts)
