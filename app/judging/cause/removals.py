"""Names that a newer version no longer has, and the warnings of older versions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from app.intake.code.names import defines
from app.intake.reading import Script
from app.judging.output.warnings_of import SCRIPT_PATH, foretells, warnings_of
from worker.contract import CapturedWarning, Environment, ExceptionFacts, Outcome, Result
from worker.contract.versions import parse_version

ANNOUNCED = "announced"
API_REMOVED = "api_removed"
_WORD = r"[A-Za-z_]\w{0,99}"
_DOTTED = rf"{_WORD}(?:\.{_WORD}){{0,9}}"
# Messages that say that something is not there. `owner` is what lacks it.
_LACKS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^module '(?P<owner>{_DOTTED})' has no attribute '(?P<name>{_WORD})'",
        rf"^(?:type object )?'(?P<owner>{_DOTTED})'(?: object)? has no attribute '(?P<name>{_WORD})'",
        rf"^(?P<owner>{_DOTTED})\(\) got an unexpected keyword argument '(?P<name>{_WORD})'",
        rf"^cannot import name '(?P<name>{_WORD})' from '(?P<owner>{_DOTTED})'",
        rf"^No module named '(?P<owner>{_WORD})\.(?P<name>{_DOTTED})'",
        rf"^[`'\"]?(?P<owner>{_WORD})\.(?P<name>{_DOTTED})[`'\"]? (?:was|has been) removed\b",
    )
)
_RAISED_IN_SCRIPT = re.compile(rf'^  File "{re.escape(SCRIPT_PATH)}", line (\d{{1,7}})', re.MULTILINE)
# Words of a message that look like code: quoted, dotted, called, or with an underscore.
_CODE = re.compile(
    rf"[`'\"](?P<quoted>{_DOTTED})[`'\"]|\b(?P<dotted>{_WORD}(?:\.{_WORD}){{1,9}})|\b(?P<called>{_WORD})\("
    rf"|\b(?P<joined>[A-Za-z]\w{{0,49}}_\w{{1,49}})\b"
)
# Errors by which a library refuses what it took before.
_REFUSALS = {"AttributeError", "TypeError", "ImportError", "ModuleNotFoundError", "ValueError", "IndexError"}
_ALIASES = {"np": "numpy", "pd": "pandas", "plt": "matplotlib", "sp": "scipy", "tf": "tensorflow"}
_ALWAYS = ("torch", "numpy", "python")


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Something that `older` of `package` had and `newer` lacks, with the warning that foretold it, if any.

    `line` is the line of the script that fails, 0 if it is not known.
    """

    package: str
    older: str
    newer: str
    line: int = 0
    warning: CapturedWarning | None = None

    @property
    def cause(self) -> str:
        """The cause that it is."""
        return API_REMOVED if self.warning is None else ANNOUNCED


def removal_of(
    script: Script, older: Iterable[Result], newer: Result, *, imported: Collection[str]
) -> Removal | None:
    """The removal that the newer attempt met, against older ones.

    None if no version differs, or nothing shows it. `imported` are the names of the packages that the script
    imports.
    """
    raised = newer.observation.exception
    if raised is None:
        return None
    line = _failing_line(newer)
    removed = None
    for one in older:
        if _same_failure(one, newer):
            continue
        versions = _versions(one.environment, newer.environment, _named_package(raised), imported)
        if versions is None:
            continue
        warnings = [warning for warning in warnings_of(one.observation) if foretells(warning)]
        warning = next((each for each in warnings if _foretold(each, warnings, raised, line)), None)
        package, before, after = versions
        removal = Removal(package=package, older=before, newer=after, line=line, warning=warning)
        if warning is not None:
            return removal
        if one.outcome is Outcome.COMPLETED and _lacks_something(raised, script, newer.environment):
            removed = removed or removal
    return removed


def _same_failure(one: Result, other: Result) -> bool:
    """Whether both raised an error of the same type with the same message, so that nothing went."""
    return one.observation.exception == other.observation.exception


def _failing_line(result: Result) -> int:
    """The line of the script in the traceback of an uncaught error; 0 if it names none."""
    lines = _RAISED_IN_SCRIPT.findall(result.observation.stderr)
    return int(lines[-1]) if lines else 0


def _lack(raised: ExceptionFacts) -> re.Match[str] | None:
    """The match of a message that says that something is not there."""
    return next((match for pattern in _LACKS if (match := pattern.search(raised.message))), None)


def _lacks_something(raised: ExceptionFacts, script: Script, environment: Environment) -> bool:
    """Whether the message says that a library lacks a name that it once had, and not the script itself."""
    lack = _lack(raised)
    if lack is None:
        return False
    owner = lack["owner"].split(".")
    if raised.type.endswith("ModuleNotFoundError") and not _version_in(environment, owner[0]):
        # The whole package is absent: nothing was removed from it.
        return False
    return owner[-1] != "NoneType" and not defines(script.script, {owner[-1], lack["name"]})


def _foretold(
    warning: CapturedWarning, others: Sequence[CapturedWarning], raised: ExceptionFacts, line: int
) -> bool:
    """Whether the warning is about what fails.

    It names what the error names. If the error names nothing, it must be the only one of the same statement.
    """
    here = bool(line) and warning.script_line == line
    lack = _lack(raised)
    if lack is not None:
        return _names(warning.text, lack["name"], anywhere=here)
    type_name = raised.type.rpartition(".")[2]
    words = _code_words(raised.message)
    if words and (here or not line or not warning.script_line):
        shared = words & _code_words(warning.text)
        if shared:
            return True
    return here and type_name in _REFUSALS and sum(each.script_line == line for each in others) == 1


def _names(text: str, name: str, *, anywhere: bool) -> bool:
    """Whether a text names it: as code, or as any word if it is a warning of the same statement."""
    last = name.rpartition(".")[2]
    if last in _code_words(text):
        return True
    return anywhere and re.search(rf"(?<!\w){re.escape(last)}(?!\w)", text) is not None


def _code_words(text: str) -> set[str]:
    """The words of a message that look like code, without what stands before their last dot."""
    words = (next(filter(None, match.groups())) for match in _CODE.finditer(text))
    return {word.rpartition(".")[2] for word in words}


def _named_package(raised: ExceptionFacts) -> str:
    """The package that an error names; empty if it names none."""
    lack = _lack(raised)
    root = "" if lack is None else lack["owner"].partition(".")[0]
    return _ALIASES.get(root, root)


def _versions(
    older: Environment, newer: Environment, named: str, imported: Collection[str]
) -> tuple[str, str, str] | None:
    """The package that explains the difference, with both versions; None unless it is newer there."""
    for package in dict.fromkeys((named, *sorted(imported), *_ALWAYS)):
        before, after = _version_in(older, package), _version_in(newer, package)
        one, other = parse_version(before), parse_version(after)
        if one is not None and other is not None and one < other:
            # A local part may hold any words.
            return package, one.public, other.public
    return None


def _version_in(environment: Environment, package: str) -> str:
    """The version of a package in an environment; empty if it has none."""
    names = {"torch": ("torch.version", "package.torch"), "python": ("python.version",)}.get(
        package, (f"package.{package}",)
    )
    return next((value for name in names if isinstance(value := environment.get(name), str)), "")
