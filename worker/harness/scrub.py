"""Recognises what must not leave a machine: private paths, identities of cards and people.

The node drops fields that hold any of it. The reporters' `probe.py` replaces it. Standard library, Python 3.8
syntax.
"""

import re
from typing import Iterable, Match

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
PRIVATE_PATH = re.compile(
    r"(?<![\w.])(?:"
    r"/(?:home|root|Users|mnt|srv|opt|var|tmp|work|data|private|Volumes)"
    r"|[A-Za-z]:[\\/]+(?:Users|Documents and Settings))"
    r"(?:[\\/]|$)"
)
MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
# The rest of a path up to its last part. Between quotes, a folder's name may have spaces.
_FOLDERS = r"(?:[^\s\"'<>|:*?\\/]{0,255}[\\/]+){0,40}"
_QUOTED_FOLDERS = _FOLDERS.replace(r"\s", r"\n")
_LIBRARY = re.compile(r"(?:site|dist)-packages[\\/]+(.*)", re.DOTALL)
# A shorter or more common name can't be distinguished from an ordinary word.
LEAST_NAME = 4
COMMON_NAMES = frozenset(
    "root user users admin administrator runner jovyan ubuntu colab content localhost sandbox home".split()
)


def is_private(text: str) -> bool:
    """Whether a text holds a private path or a UUID."""
    return UUID.search(text) is not None or PRIVATE_PATH.search(text) is not None


class Scrubber:
    """Removes the names of this machine and its user, and the folders of their files, from a text.

    `folders`: absolute paths of the user's own folders. `names`: names of the user and the machine.
    """

    def __init__(self, folders: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        own_folders = sorted({folder for folder in folders if len(folder) > 1}, key=len, reverse=True)
        private = PRIVATE_PATH.pattern.replace("(?:[\\\\/]|$)", "[\\\\/]+")
        alternatives = ["(?<=[\"'])" + private + _QUOTED_FOLDERS, private + _FOLDERS]
        if own_folders:
            own_folder = "(?:" + "|".join(re.escape(folder.rstrip("\\/")) for folder in own_folders) + ")"
            # These folders are the user's own: better remove a word too much than show a folder's name.
            own = [own_folder + r"(?![\w\\/])", own_folder + r"[\\/]+" + _QUOTED_FOLDERS]
            alternatives = [*own, *alternatives]
        self.paths = re.compile("|".join(alternatives))
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
        """The text with paths shortened, and UUID, MAIL or NAME in place of the rest."""
        text = UUID.sub("UUID", self.paths.sub(_shorten, text))
        text = MAIL.sub("MAIL", text)
        return self.names.sub("NAME", text) if self.names is not None else text


def _shorten(match: Match[str]) -> str:
    """Keep the part of a library's path below site-packages; drop all folders of any other path."""
    library = _LIBRARY.search(match.group())
    if library:
        return ".../site-packages/" + library.group(1).replace("\\", "/")
    return ".../" if match.group()[-1] in "\\/" else "..."
