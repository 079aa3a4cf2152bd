"""The statement about a bundle (in-toto Statement v1), with a predicate of our own: the bundle itself."""

from __future__ import annotations

from typing import Any

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
# An identifier, and no address: what it means stands in docs/signed-bundles.md.
PREDICATE_TYPE = "urn:samehere:bundle:v1"


def statement_of(bundle: dict[str, Any]) -> dict[str, Any]:
    """The statement "this ran so", about the evidence in a bundle."""
    return {
        "_type": STATEMENT_TYPE,
        "subject": subject_of(bundle),
        "predicateType": PREDICATE_TYPE,
        "predicate": bundle,
    }


def subject_of(bundle: dict[str, Any]) -> list[dict[str, Any]]:
    """The subject: the run, by the digest of its bundle, which covers all its other fields."""
    run = bundle.get("run")
    run_id = run.get("id") if isinstance(run, dict) else None
    return [
        {"name": f"run {run_id}", "digest": {"sha256": str(bundle.get("digest")).removeprefix("sha256:")}}
    ]
