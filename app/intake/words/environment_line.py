"""Recognises a line that names versions and systems, such as `torch 2.1.0, Python 3.10`. It is no output."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.intake.memory import remembers
from app.intake.words.distributions import WELL_KNOWN

_SYSTEMS = (
    r"(?:ubuntu|debian|linux|windows(?: server)?|win|mac ?os(?: ?x)?|osx|centos|fedora|arch(?: linux)?|rhel"
    r"|red hat|rocky|alma|alpine|manjaro|mint|opensuse|wsl ?2?|colab|kaggle|x86[_-]64|amd64|arm64|aarch64"
    r"|apple silicon|m[1-5](?: (?:pro|max|ultra))?|intel mac|macbook(?: pro| air)?)"
)
_PACKAGES = "|".join(
    sorted(
        (
            re.escape(name)
            for name in (
                *WELL_KNOWN,
                *("pytorch", "python", "cpython", "pypy", "py", "cuda", "cudnn", "rocm", "mkl", "openblas"),
                *(
                    "sklearn",
                    "conda",
                    "miniconda",
                    "anaconda",
                    "pip",
                    "poetry",
                    "uv",
                    "gcc",
                    "clang",
                    "glibc",
                ),
                *("driver", "nvidia driver", "ipython", "jupyter", "cython", "numba", "django", "flask"),
            )
        ),
        key=len,
        reverse=True,
    )
)
_VERSION = r"v?\d{1,4}(?:\.\d{1,6}){0,4}(?:\.?(?:dev|post|a|b|rc)\d{0,9})?(?:\+[\w.]{1,30})?(?:\.x)?"
_SEGMENT = re.compile(
    rf"(?:(?:using|running|on|with|also|tested|tried|in|under|my|and|versions?:?|env(?:ironment)?:?) ){{0,3}}"
    rf"(?:(?:{_PACKAGES})(?:[ _-]version)?(?:(?: is |[ :=@v-]{{1,4}}){_VERSION}|(?P<bare>))"
    rf"|{_SYSTEMS}(?:[ :=]{{1,3}}[\d.]{{1,12}}(?: lts)?)?|{_VERSION}|(?:64|32)[ -]?bit|lts"
    rf"|cpu(?: only| build)?"
    r"|(?:nvidia )?(?:geforce |tesla )?(?:[rg]tx ?\d{4}(?: ?ti)?|[ahvp]\d{2,3}|t4|l4|l40s?))"
    r"(?: (?:64|32)[ -]?bit)?(?: lts)?",
    re.IGNORECASE,
)
# `numpy version: 1.18.3 torch version: 1.11.0` has no sign between the two.
_SEPARATOR = re.compile(
    r"[,;|/()]|\s\+\s|\band\b|\bon\b|\bwith\b|(?<=\d) {1,4}(?=[a-z]{2,20}(?: version)?[ :=]{1,3}v?\d)",
    re.IGNORECASE,
)
_CERTAIN = re.compile(rf"\d\.\d+\.\d|{_SYSTEMS} \d|\bversion\b|==", re.IGNORECASE)
# A line of `conda list` or `pip list`: name, version, build, channel.
_LISTED = re.compile(
    rf"(?:{_PACKAGES}|[a-z][\w-]{{1,40}}(?=\s{{3,}}))\s+v?\d{{1,4}}\.\d[\w.+]{{0,30}}(?:\s+[\w.-]{{1,40}}){{0,2}}\s*$",
    re.IGNORECASE,
)
# The lines of a form, whatever the package: `cattrs version: 23.2.3`, `OS: Windows 10`.
_OF_FORM = re.compile(
    r"(?:[a-z][\w.-]{0,40} (?:package )?version[*_` ]{0,4}[:=][*_` ]{0,4}v?\d[\w.+-]{0,40}(?: \(.{0,80}\))?"
    r"|(?:operating system|os|platform|architecture)(?: (?:version|name|and \w{1,12}|version and name))?"
    r"[*_` ]{0,4}:.{1,120}"
    r"|\w{0,20} ?versions? tested on[*_` ]{0,4}:.{0,120})",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z]{2}")
_RULE = re.compile(r"\s*[-=*_]{3,}\s*$")
# `Summary of the h5py configuration`
_TITLE_OF_LIST = re.compile(
    r"(?:[\w-]+ ){0,4}(?:configuration|versions?(?: info(?:rmation)?)?|environment|system info"
    r"|dependencies)(?: [\w-]+){0,3}:?$",
    re.IGNORECASE,
)
_ATTRIBUTE_OF_BUILD = re.compile(
    r"\w[\w-]{0,30}\s+v?\d+\.\d|(?:sys|platform|os)\.\w+\s+\S|\[(?:GCC|Clang|MSC)\b|[\w-]+ {2,}\S{1,40}$",
    re.IGNORECASE,
)
_LEAST_LISTED = 2
_MOST_LINES = 400
_MOST = 200
_MOST_SEGMENTS = 12


def is_environment_block(text: str) -> bool:
    """True if the lines are a list of packages with versions, with labels such as `conda:` in between."""
    lines = [
        line.strip() for line in text.split("\n")[:_MOST_LINES] if line.strip() and not _RULE.match(line)
    ]
    listed = [line for line in lines if _LISTED.match(line) or is_environment_line(line)]
    if listed and _TITLE_OF_LIST.match(lines[0]):
        # A program lists its own build in lines of other forms, too.
        return len(listed) >= _LEAST_LISTED and all(
            line in listed or _ATTRIBUTE_OF_BUILD.match(line) for line in lines[1:]
        )
    return bool(listed) and all(line in listed or line.endswith(":") for line in lines)


@remembers()
def is_environment_line(line: str) -> bool:
    """True if the line consists of packages and systems with their versions, and names at least one."""
    line = line.strip().strip(".*_`-• ").strip()[:_MOST]
    if (":" in line or "=" in line) and _OF_FORM.fullmatch(line):
        return True
    # Most lines are told by their first segment, so the rest is looked at last.
    if not any(map(str.isdigit, line)) or not all(
        _SEGMENT.fullmatch(segment.strip()) for segment in _segments(line)
    ):
        return False
    segments = list(_segments(line))
    if len(segments) == 1 and not _CERTAIN.search(line):
        # `torch 1.5` may be the value of a side.
        return False
    return 0 < len(segments) <= _MOST_SEGMENTS and any(map(_NAME.match, segments))


def _segments(line: str) -> Iterator[str]:
    """The pieces between separators. Blank ones are left out."""
    start = 0
    for separator in _SEPARATOR.finditer(line):
        if line[start : separator.start()].strip():
            yield line[start : separator.start()]
        start = separator.end()
    if line[start:].strip():
        yield line[start:]
