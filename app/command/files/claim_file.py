"""The claim of a command: its words, or a file with a claim as data."""

from __future__ import annotations

from app.command.files.source import STDIN, argument_text, display_name, read_bytes
from app.errors import InputError, TooLargeError
from app.intake.typed.claim_form import checked_json


def given_claim_text(claim: str | None, file: str | None, *, beside: str, most_bytes: int) -> str | None:
    """The claim that the options give; None if they give none. `beside` is the file of the report.

    Raises InputError, TooLargeError.
    """
    if file is None:
        return None if claim is None else argument_text(claim)
    if claim is not None:
        raise InputError("Give either --claim or --claim-file.", code="two_claims", field="claim-file")
    if file == beside == STDIN:
        raise InputError(
            "Standard input can be only one of them: the report or the claim.",
            code="two_claims",
            field="claim-file",
        )
    data = read_bytes(file, most_bytes)
    if len(data) > most_bytes:
        raise TooLargeError(f"{display_name(file)} is larger than {most_bytes} bytes.", field="claim-file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{display_name(file)} is no text in UTF-8: byte {error.start} does not fit.",
            code="not_text",
            field="claim-file",
        ) from error
    return checked_json(text)
