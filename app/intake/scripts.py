"""Code as it is run: named repairs, digest, needs."""

from __future__ import annotations

import hashlib

from app.intake.needs import needs_of
from app.intake.randomness import is_unseeded
from app.intake.reading import Repair, Script, ScriptRole
from app.intake.repairs import missing_imports
from app.intake.syntax import normalised, parsed
from app.intake.transcripts import shows_values, without_magics


def digest_of(script: str) -> str:
    """`sha256:` and the SHA-256 of the script."""
    return "sha256:" + hashlib.sha256(script.encode(errors="surrogatepass")).hexdigest()


def make_script(as_given: str, *, role: ScriptRole = ScriptRole.MAIN, repair: bool = True, transcript: bool = False) -> Script:
    """A script as given and as run. Raises InputError when it can't be parsed. `transcript`: it was typed at a prompt."""
    text, repairs = normalised(as_given), list[Repair]()
    text, marked = without_magics(text)
    if marked:
        repairs.append(Repair(code="shell_line", detail=f"Made {marked} lines for a shell or a notebook comments."))
    if transcript:
        text, shown = shows_values(text)
        if shown:
            repairs.append(Repair(code="shown_value", detail=f"Made {shown} expressions print what a prompt shows."))
    tree = parsed(text)
    if repair:
        text, added = missing_imports(text, tree)
        repairs += added
        tree = parsed(text) if added else tree
    return Script(
        role=role,
        as_given=as_given,
        script=text,
        repairs=tuple(repairs),
        digest=digest_of(text),
        needs=needs_of(tree),
        unseeded=is_unseeded(tree),
    )
