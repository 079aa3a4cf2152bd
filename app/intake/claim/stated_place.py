"""Reads the environment to which a failure is limited: a system, a version, a way to start.

An environment where the script works does not count. Every pattern is linear.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.intake.claim.claims import Check, Role, Where
from app.intake.claim.subject import PYTHON, package_named
from app.intake.words.other_devices import other_device_of
from app.intake.words.vocabulary import FLAGS, both_devices, device_of

_SYSTEMS = {
    "wsl": "linux",
    "linux": "linux",
    "ubuntu": "linux",
}
_SYSTEM = (
    r"(?P<{name}>windows ?(?:32|64)(?:[ -]?bits?)?(?!\d)|win(?:32|64)|windows(?! of)|win1[01]"
    r"|linux|ubuntu|mac ?os(?: ?x)?|osx|wsl2?"
    r"|(?:(?:an? |my |the )?(?:apple[ -]silicon|mac(?:book|s)?(?: pro| air| mini)?\b|apple m[1-5]"
    r"|m[1-5] mac\w*)))(?: server)?(?: \d[\d.]*)?"
)
_ONE = _SYSTEM.format(name="one")
_PACKAGE = (
    r"(?:py)?torch|numpy|scipy|pandas|scikit-learn|sklearn|pillow|pil|jax|python|cpython|torchvision"
    r"|torchaudio|matplotlib|tensorflow|triton|transformers|numba|sympy|networkx|xarray|polars|pydantic"
)
_VERSION = (
    rf"(?:(?P<{{name}}_package>{_PACKAGE})(?: version| release)? |version |release |`?(?P<{{name}}_pinned>"
    rf"{_PACKAGE})`?(?:==|>=|>) ?)?v?(?P<{{name}}>\d{{{{1,2}}}}\.\d{{{{1,2}}}})(?:\.\d{{{{1,2}}}})?"
    r"(?![\w.]{{0,20}}\d)"
)
# In `python 3:` one number is enough.
_WITH_ONE_NUMBER = re.compile(
    rf"(?<![\w.])(?P<package>{_PACKAGE})[ -]?v?(?P<version>\d{{1,2}})(?![\w.]{{0,20}}\d)", FLAGS
)
# `v1:` above one output, and `v2:` above another.
_ONLY_ONE_NUMBER = re.compile(
    r"\W*(?:(?:with|in|under|on) )?(?:version |v\.? ?)(?P<version>\d{1,2})(?:\.x)?\W*", FLAGS
)
_PYTHON = re.compile(
    r"\b(?:only|fails|failing|broken|crashes|breaks|raises|happens)\b[^.;\n]{0,30}\b(?:with|on|under|in"
    r"|for) python (?P<version>3\.\d{1,2})\b"
    r"|\bpython (?P<other>3\.\d{1,2})(?:\+)? only\b",
    FLAGS,
)
_FAILS = (
    r"(?:fail(?:s|ed|ing)?|broken?|breaks|crash(?:es|ed)?|wrong|happens?|occurs?|raises?|segfaults?"
    r"|hangs?|does(?:n['’]t| not) work|bad|buggy|affected)"
)
_WORKS = (
    r"(?<!n['’]t )(?<!not )(?<!never )(?:work(?:s|ed|ing)?|fine|ok(?:ay)?|good|correct(?:ly)?"
    r"|pass(?:es|ed)?|not affected|unaffected)"
)
_LINK = (
    r"(?: (?:fine|well|correctly|ok|as expected|properly|only|just|it|for me)){0,6}(?: (?:on|in|with|under"
    r"|at|for))? (?:the )?"
)
_ONLY_SYSTEM = re.compile(
    rf"\bonly\b[^.;\n]{{0,30}}\b(?:on|under|in|affects?) {_ONE}(?!\w)"
    rf"|\b{_SYSTEM.format(name='two')}[- ]only\b|\b(?:on|under) {_SYSTEM.format(name='three')},? only\b",
    FLAGS,
)
_FAILS_SYSTEM = re.compile(rf"\b{_FAILS}{_LINK}{_ONE}(?!\w)", FLAGS)
_TITLE_SYSTEM = re.compile(rf"^\s*\[{_ONE}\]|\({_SYSTEM.format(name='two')}(?: only)?\)\s*$", FLAGS)
_ON_SYSTEM = re.compile(rf"\b(?:on|under|my|our) {_ONE}(?!\w)", FLAGS)
_WORKS_ON = re.compile(rf"\b{_WORKS}{_LINK}(?=(?:windows|win1|linux|ubuntu|mac|osx|wsl))", FLAGS)
_ON_WORKS = re.compile(
    rf"\b(?:on|under) {_ONE},? (?:it(?:['’]s)? |this |that |everything |all "
    rf"|the same \w+ )?(?:is |are |runs )?{_WORKS}\b",
    FLAGS,
)
# `Linux x86_64: OK. macOS 15 (arm64): dies.`
_LABELLED = re.compile(
    rf"(?<![\w-]){_SYSTEM.format(name='system')}(?P<more>[^.;:,\n]{{0,24}}): ?(?P<words>[^.;,\n]{{1,60}})",
    FLAGS,
)
_ON = re.compile(r"(?:\.\d{1,2})?(?: on(?:wards?)?\b| and (?:later|up|above|newer)\b|\+)", FLAGS)
_SINCE = re.compile(
    r"\b(?:since|(?:starting|started|began|begins|appeared) (?:from|with|in)|as of|from"
    r"|after (?:the )?(?:upgrade|update|upgrading|updating) to|beginning with|introduced in"
    r"|(?:as soon as|once|when|whenever) (?:i|we|you) (?:use|install|switch to|upgrade to|update to|move to)"
    rf"|regression (?:in|since|from)) {_VERSION.format(name='version')}(?P<on> (?:on|onwards?"
    r"|and (?:later|up|above|newer)))?",
    FLAGS,
)
_NEEDS_ON = re.compile(r"^from\b", FLAGS)
_FAILS_VERSION = re.compile(rf"\b{_FAILS}{_LINK}{_VERSION.format(name='version')}", FLAGS)
_WORKS_VERSION = re.compile(rf"\b{_WORKS}{_LINK}{_VERSION.format(name='version')}", FLAGS)
_VERSION_FAILS = re.compile(
    rf"\b(?:on|in|with|under|but|and|only)? ?\b{_VERSION.format(name='version')},?"
    rf"(?: (?:it|this|that|the \w+|everything))?(?: (?:is|was|are|now|always|suddenly"
    rf"|only)){{0,2}} {_FAILS}\b",
    FLAGS,
)
_VERSION_WORKS = re.compile(
    rf"\b(?:on|in|with|under)? ?\b{_VERSION.format(name='version')},?"
    rf"(?: (?:it|this|that|the \w+|everything|all))?(?: (?:is|was|are|still|always)){{0,2}} {_WORKS}\b",
    FLAGS,
)
# `Only numpy 1.x does this`, `happens with numpy 1.x only`.
_ONLY_VERSION = re.compile(
    rf"\bonly (?:(?:in|with|on|under|affects?|happens (?:in|with|on|under)) )?(?P<package>{_PACKAGE})"
    r"(?: version)? v?(?P<version>\d{1,2}(?:\.\d{1,2})?)(?:\.x|\.\*)?(?![\w.]{0,20}\d)"
    rf"|\b(?P<other>{_PACKAGE})(?: version)? v?(?P<number>\d{{1,2}}(?:\.\d{{1,2}})?)(?:\.x|\.\*)? only\b",
    FLAGS,
)
# A version that is the bad one is said to do this in its own clause.
_GOES_WRONG = re.compile(
    rf"\b{_FAILS}\b|\w(?:Error|Exception)\b|\b(?:errors?|dies|died|aborts?|killed|stops?"
    r"|(?:i|we|you) (?:get|see|hit|got|have)|prints?|gives?|returns?|shows?|complains?|not|never)\b|n['’]t\b",
    FLAGS,
)
_NO_PLACE = re.compile(
    r"\b(?:also|too|both|either|regardless|same on|not only|and linux|all platforms)\b", FLAGS
)
_ANY_VERSION = re.compile(rf"(?<![\w.\[]){_VERSION.format(name='version')}", FLAGS)
_MOST_INTRODUCTION = 200
_MOST_TEXT = 20_000
# The way a script was started: `with torchrun --nproc_per_node=2`, `under python -O`, `with X_Y=1 set`.
_MODE = re.compile(
    r"(?<![\w-])(?P<mode>torchrun|torch\.distributed\.(?:launch|run)|mpirun|mpiexec|accelerate launch"
    r"|horovodrun|deepspeed(?= launcher)|python3? -(?:O{1,2}|[BEISu]|X \w+|W \w+)(?!\w)"
    r"|(?i:under|with|in|inside|when|using|from|by) (?:a |an |the )?(?i:pytest|gdb|valgrind"
    r"|jupyter(?: notebook)?|colab|ipython|spyder|pyinstaller|cron)"
    r"|(?i:with|when|if|under|setting|set) `?[A-Z][A-Z0-9]*_[A-Z0-9_]+ ?= ?\w+)\b",
)
_OF_APPLE = re.compile(r"\bmac|\bosx|\bapple|\bm[1-5] ")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_OF_BUGS = re.compile(
    rf"\b(?:{_FAILS}|regression|bug|issue|problem|errors?|only|started|began|broke)\b|^\s*\[|Error\b", FLAGS
)
# A GPU by its model, as in `on an A100`.
_CARD = re.compile(
    r"\b(?:on|with|using) (?:an? |the |my |our )?(?:nvidia )?(?:geforce )?(?:tesla )?(?:[ahv]100|h200"
    r"|b200|t4|l4|l40s?|a10g?|a40|rtx ?[a-z]?\d{3,4}|gtx ?\d{3,4}|[2345]0[5-9]0|titan|quadro)\b",
    FLAGS,
)
_CLAUSE = re.compile(r"[,;]|\b(?:but|while|whereas|and|where)\b", FLAGS)
_CONTRARY = re.compile(r"[,;]|\b(?:but|while|whereas)\b", FLAGS)


def stated_place(text: str, *, about_it: bool = False) -> Where:
    """The environment that a text names.

    `about_it`: the text is the sentence of the claim itself, so `on Windows` is enough.
    """
    text = text[:_MOST_TEXT]
    version = _version(text)
    return version.model_copy(
        update={"os": _system(text, about_it=about_it), "mode": _mode(text) if about_it else None}
    )


def _mode(text: str) -> str | None:
    match = _MODE.search(text)
    return None if match is None or _NO_PLACE.search(text) else match["mode"].strip(" `").lower()


def _system(text: str, *, about_it: bool) -> str | None:
    if _NO_PLACE.search(text):
        return None
    match = (
        _TITLE_SYSTEM.search(text)
        or _ONLY_SYSTEM.search(text)
        or (_FAILS_SYSTEM.search(text) if _WORKS_ON.search(text) else None)
    )
    if match is None and (other := _other_system(text)):
        return other
    if match is None and (fails := _FAILS_SYSTEM.search(text)) and _family(fails["one"]) != "linux":
        # Failures under Linux are tried here, whatever the report means by it.
        return _family(fails["one"])
    if match is None and about_it:
        working = [hit.end() for hit in _WORKS_ON.finditer(text)] + [
            hit.start("one") for hit in _ON_WORKS.finditer(text)
        ]
        hits = [hit for hit in _ON_SYSTEM.finditer(text) if hit.start("one") not in working]
        families = {_family(hit["one"]) for hit in hits}
        return families.pop() if len(families) == 1 else None
    return None if match is None else _family(next(group for group in match.groups() if group))


def _other_system(text: str) -> str | None:
    """The other system in `On Linux it works, on Windows it dies`."""
    if labelled := _labelled_system(text):
        return labelled
    places = {hit.start("one") for hit in _ON_WORKS.finditer(text)}
    places |= {hit.end() for hit in _WORKS_ON.finditer(text)}
    working = {_family(hit["one"]) for hit in _ON_SYSTEM.finditer(text) if hit.start("one") in places}
    others = [hit for hit in _ON_SYSTEM.finditer(text) if _family(hit["one"]) not in working]
    families = {_family(hit["one"]) for hit in others}
    if not working or len(families) != 1:
        return None
    clause = _clause_at(text, others[0].start(), ends=_CONTRARY)
    return families.pop() if _GOES_WRONG.search(clause) else None


def _labelled_system(text: str) -> str | None:
    """The system in `Linux: OK. macOS: dies.` where it goes wrong."""
    works, fails = set[str](), set[str]()
    for hit in _LABELLED.finditer(text):
        if _GOES_WRONG.search(hit["words"]):
            fails.add(_family(hit["system"]))
        elif re.search(rf"\b{_WORKS}\b", hit["words"], FLAGS):
            works.add(_family(hit["system"]))
    return fails.pop() if works and len(fails) == 1 and not works & fails else None


def _family(name: str) -> str:
    name = name.lower().strip()
    if name.startswith("win"):
        # `Windows 32-bit` is Windows, too.
        return "windows"
    return (
        "macos" if _OF_APPLE.search(name) else _SYSTEMS.get(name, "linux" if name.startswith("wsl") else name)
    )


def _version(text: str) -> Where:
    """The version that fails, with its package if the text names one."""
    python = _PYTHON.search(text)
    if python:
        return Where(version=f"python {python['version'] or python['other']}")
    fails = _FAILS_VERSION.search(text) or _VERSION_FAILS.search(text)
    works = _WORKS_VERSION.search(text) or _VERSION_WORKS.search(text)
    if fails and works and fails["version"] != works["version"]:
        return _of_package(fails, fails["version"])
    if works and (other := _other_version(text, works)):
        return other
    if only := _ONLY_VERSION.search(text):
        return _at(only["package"] or only["other"], only["version"] or only["number"])
    since = next(
        (match for match in _SINCE.finditer(text) if match["on"] or not _NEEDS_ON.match(match[0])), None
    )
    return _of_package(since, f">={since['version']}") if since else Where()


def _other_version(text: str, works: re.Match[str]) -> Where | None:
    """The place of the other version in `It works on 3.10, but on 3.14 I get a TypeError`."""
    package = _name_of(works)
    others = [
        match
        for match in _ANY_VERSION.finditer(text)
        if match["version"] != works["version"] and (_name_of(match) or package) in {package, _name_of(match)}
    ]
    if len({match["version"] for match in others}) != 1:
        return None
    (other, *_) = others
    clause = _clause_at(text, other.start(), ends=_CONTRARY)
    if works["version"] in clause or not _GOES_WRONG.search(clause):
        return None
    since = ">=" if _ON.match(text, other.end()) else ""
    return _at(_name_of(other) or package, since + other["version"])


def _name_of(match: re.Match[str]) -> str | None:
    return match["version_package"] or match["version_pinned"]


def _of_package(match: re.Match[str], version: str) -> Where:
    return _at(_name_of(match), version)


def _at(named: str | None, version: str) -> Where:
    """The place of a version. torch is the package that needs no name."""
    package = package_named(named) if named else None
    if package == PYTHON:
        return Where(version=f"python {version}")
    return Where(package=None if package == "torch" else package, version=version)


@dataclass(frozen=True, slots=True)
class NamedVersion:
    """A version of a package; the package is empty if the words name none."""

    package: str
    release: tuple[int, ...]
    # The third number, 0 without one. It only tells which of two is the older one.
    patch: int = 0

    def __str__(self) -> str:
        return f"{self.package} {'.'.join(map(str, self.release))}".strip()


def newest_place(version: str | None) -> Where:
    """The place of an output under `numpy 2.0:`, beside those of older ones: this version or a later one."""
    package, _, number = (version or "").rpartition(" ")
    if not number:
        return Where()
    if package == PYTHON:
        return Where(version=f"python >={number}")
    return Where(package=package if package not in {"", "torch"} else None, version=f">={number}")


def version_named(introduction: str) -> NamedVersion | None:
    """The one version in the words above a block, as in `With numpy 1.26:`; None for none or several."""
    matches = list(_ANY_VERSION.finditer(introduction[-_MOST_INTRODUCTION:]))
    if not matches and (match := _WITH_ONE_NUMBER.search(introduction[-_MOST_INTRODUCTION:])):
        return NamedVersion(package_named(match["package"]) or "", (int(match["version"]),))
    if not matches and (match := _ONLY_ONE_NUMBER.fullmatch(introduction[-_MOST_INTRODUCTION:])):
        return NamedVersion("", (int(match["version"]),))
    if len(matches) != 1:
        return None
    (match,) = matches
    named = match["version_package"] or match["version_pinned"] or ""
    patch = match[0].rpartition(match["version"])[2].strip(".")
    return NamedVersion(
        package_named(named) or "" if named else "",
        tuple(map(int, match["version"].split("."))),
        int(patch) if patch.isdigit() else 0,
    )


def working_versions(text: str) -> list[NamedVersion]:
    """The versions that a text says it works with, as in `it worked in numpy 2.3`, each once, in order."""
    matches = [hit for form in (_WORKS_VERSION, _VERSION_WORKS) for hit in form.finditer(text[:_MOST_TEXT])]
    named = (
        NamedVersion(package_named(_name_of(match) or "") or "", tuple(map(int, match["version"].split("."))))
        for match in sorted(matches, key=lambda match: match.start("version"))
    )
    return list(dict.fromkeys(named))


def place_of_bug(texts: Sequence[str]) -> Where:
    """The environment of the bug, from the title (`texts[0]`) or the first sentence about a failure."""
    titles = [text for text in texts[:1] if _TITLE_SYSTEM.search(text)]
    for text in texts:
        sentences = _SENTENCES.split(text[:_MOST_TEXT])
        # `It works on Linux. On Windows it dies.` are two sentences.
        pairs = [f"{one.rstrip('. ')}; {other}" for one, other in itertools.pairwise(sentences)]
        for sentence in [*sentences, *filter(_contrasts, pairs)]:
            is_about_bug = _OF_BUGS.search(sentence) or _is_since(sentence) or _contrasts(sentence)
            if (is_about_bug or sentence in titles) and (where := stated_place(sentence)) != Where():
                return where
    return Where()


def _contrasts(sentence: str) -> bool:
    """True if a text says that it works in one place, and goes wrong in another one."""
    works = _WORKS_VERSION.search(sentence) or _VERSION_WORKS.search(sentence)
    return (works is not None and _other_version(sentence, works) is not None) or (
        _other_system(sentence) is not None
    )


def _is_since(sentence: str) -> bool:
    """True if a sentence says since which version of a package something happens, and praises nothing."""
    match = _SINCE.search(sentence)
    return (
        match is not None and _name_of(match) is not None and not re.search(rf"\b{_WORKS}\b", sentence, FLAGS)
    )


def with_place(checks: Sequence[Check], where: Where) -> list[Check]:
    """The checks of bugs, limited to this environment where they name none.

    Expected checks hold everywhere.
    """
    if where == Where():
        return list(checks)
    fields = where.model_dump(exclude_none=True)

    def add_place(check: Check) -> Check:
        own_fields = check.where.model_dump(exclude_none=True)
        return check.model_copy(update={"where": Where(**{**fields, **own_fields})})

    return [add_place(check) if check.role is Role.BUG else check for check in checks]


def stated_device(text: str) -> Where:
    """The device that a text names, also by the model of a GPU."""
    device = device_of(text)
    if device == "cuda" or (device is None and not both_devices(text) and _CARD.search(text)):
        return Where(device="cuda")
    return Where(device=other_device_of(text))


def device_at(sentence: str, place: int) -> Where:
    """The device for a position in a sentence. If the sentence names both devices, its clause decides."""
    return stated_device(_clause_at(sentence, place) if both_devices(sentence) else sentence)


def clause_of(check: Check, sentence: str) -> str:
    """The clause that holds the value of a check: `on Windows it prints 5, on Linux 4`."""
    value = check.number or (check.lines[0] if len(check.lines) == 1 else "")
    match = re.search(rf"(?<![\w.]){re.escape(value)}(?!\w)", sentence) if value else None
    return _clause_at(sentence, match.start(), ends=_CONTRARY) if match else ""


def _clause_at(sentence: str, place: int, *, ends: re.Pattern[str] = _CLAUSE) -> str:
    """The clause of a sentence around a position. Commas and conjunctions separate clauses."""
    start = max((match.end() for match in ends.finditer(sentence, 0, place)), default=0)
    end = next((match.start() for match in ends.finditer(sentence, place)), len(sentence))
    return sentence[start:end]
