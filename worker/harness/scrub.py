"""What must not leave a machine: paths of someone's, identities of cards and people. Standard library, Python 3.8 syntax.

The node drops fields that hold any of it; `probe.py` writes something else in its place.
"""

import re
from typing import Iterable, Match

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
PRIVATE_PATH = re.compile(
    r"(?<![\w.])(?:/(?:home|root|Users|mnt|srv|opt|var|tmp|work|data|private|Volumes)|[A-Za-z]:[\\/]+(?:Users|Documents and Settings))"
    r"(?:[\\/]|$)"
)
MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
# The rest of a path up to its last part; in some places a folder's name may have spaces.
_FOLDERS = r"(?:[^\s\"'<>|:*?\\/]{0,255}[\\/]+){0,40}"
_QUOTED_FOLDERS = _FOLDERS.replace(r"\s", r"\n")
_LIBRARY = re.compile(r"(?:site|dist)-packages[\\/]+(.*)", re.DOTALL)
# Too short or too common to be told from an ordinary word.
LEAST_NAME = 4
COMMON_NAMES = frozenset(
    (
        "root",
        "user",
        "users",
        "admin",
        "administrator",
        "runner",
        "jovyan",
        "ubuntu",
        "colab",
        "content",
        "localhost",
        "sandbox",
        "home",
    )
)


def is_private(text: str) -> bool:
    """Whether a text holds a path of someone's or a UUID."""
    return UUID.search(text) is not None or PRIVATE_PATH.search(text) is not None


class Scrubber:
    """Takes out of a text what its machine and its user are called, and where their files lie."""

    def __init__(self, folders: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        own = sorted({folder for folder in folders if len(folder) > 1}, key=len, reverse=True)
        private = PRIVATE_PATH.pattern.replace("(?:[\\\\/]|$)", "[\\\\/]+")
        ways = ["(?<=[\"'])" + private + _QUOTED_FOLDERS, private + _FOLDERS]
        if own:
            here = "(?:" + "|".join(re.escape(folder.rstrip("\\/")) for folder in own) + ")"
            # What lies in these is the user's own for sure: rather a word too much than a name of a folder.
            ways = [here + r"(?![\w\\/])", here + r"[\\/]+" + _QUOTED_FOLDERS] + ways  # noqa: RUF005
        self.paths = re.compile("|".join(ways))
        words = sorted(
            {name for name in names if len(name) >= LEAST_NAME and name.lower() not in COMMON_NAMES},
            key=len,
            reverse=True,
        )
        self.names = (
            re.compile(
                r"(?<![A-Za-z0-9])(?:" + "|".join(map(re.escape, words)) + r")(?![A-Za-z0-9])", re.IGNORECASE
            )
            if words
            else None
        )

    def clean(self, text: str) -> str:
        """The text without any of it."""
        text = UUID.sub("UUID", self.paths.sub(_shorter, text))
        text = MAIL.sub("MAIL", text)
        return self.names.sub("NAME", text) if self.names is not None else text


def _shorter(found: Match[str]) -> str:
    """Of a library's file the part below the library's folder says which it is; of any other its last part."""
    library = _LIBRARY.search(found.group())
    if library:
        return ".../site-packages/" + library.group(1).replace("\\", "/")
    return ".../" if found.group()[-1] in "\\/" else "..."
