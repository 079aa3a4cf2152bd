"""Signed bundles: who vouches is verified and shown, and nothing that was altered gets in."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from api.web_client import Web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from httpx2 import Response

from app.runs.exchange.envelope import PAYLOAD_TYPE, envelope_in, key_id_of, pae, sign_bundle
from app.runs.exchange.signing_keys import register, revoke_keys
from app.runs.exchange.statement import statement_of
from app.runs.run_object.storable import json_digest

Change = Callable[[dict[str, Any]], None]


def with_digest(bundle: dict[str, Any]) -> dict[str, Any]:
    content = {name: value for name, value in bundle.items() if name != "digest"}
    return {**content, "digest": json_digest(content)}


@pytest.fixture
def key(web: Web) -> bytes:
    """A private key whose public half is registered."""
    pair = Ed25519PrivateKey.generate()
    with web.stage.session() as session:
        register(session, "lab-h100", pair.public_key().public_bytes_raw())
    return pair.private_bytes_raw()


@pytest.fixture
def bundle(web: Web) -> dict[str, Any]:
    """The bundle of a run on another service's node."""
    run = web.post(repeats=3)
    web.finish(run["id"])
    made = web.client.get(f"/api/v1/runs/{run['id']}/bundle").json()
    for job in made["jobs"]:
        for attempt in job["attempts"]:
            attempt["result"]["node"] = "elsewhere"
    return with_digest(made)


def send(web: Web, data: dict[str, Any]) -> Response:
    return web.client.post(
        "/api/v1/bundles", content=json.dumps(data), headers={"Content-Type": "application/json"}
    )


def refusal(web: Web, data: dict[str, Any]) -> str:
    answer = send(web, data)
    assert answer.status_code == 422, answer.text
    return str(answer.json()["code"])


def resign(statement: dict[str, Any], key: bytes, *, payload_type: str = PAYLOAD_TYPE) -> dict[str, Any]:
    """An envelope of any statement, rightly signed."""
    payload = json.dumps(statement).encode()
    pair = Ed25519PrivateKey.from_private_bytes(key)
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": payload_type,
        "signatures": [{"sig": base64.b64encode(pair.sign(pae(payload_type, payload))).decode()}],
    }


def test_the_encoding_is_that_of_the_specification() -> None:
    encoded = pae("http://example.com/HelloWorld", b"hello world")
    assert encoded == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert pae("é", "ü".encode()) == b"DSSEv1 2 \xc3\xa9 2 \xc3\xbc"


def test_the_page_says_who_vouches(web: Web, bundle: dict[str, Any], key: bytes) -> None:
    answer = send(web, sign_bundle(bundle, key))
    assert answer.status_code == 201, answer.text
    run = answer.json()
    key_id = key_id_of(Ed25519PrivateKey.from_private_bytes(key).public_key().public_bytes_raw())
    assert run["contributed"]["signed_by"] == {"name": "lab-h100", "key": key_id}
    page = web.client.get(f"/runs/{run['id']}").text
    assert "lab-h100 vouches for it" in page
    assert key_id[:16] in page
    assert f"signed by the registered key {key_id[:16]}" in web.client.get(f"/runs/{run['id']}.md").text


def test_an_unsigned_bundle_has_nobody_until_it_comes_signed(
    web: Web, bundle: dict[str, Any], key: bytes
) -> None:
    run = send(web, bundle).json()
    assert run["contributed"]["signed_by"] is None
    assert "nobody vouches for it" in web.client.get(f"/runs/{run['id']}").text
    answer = send(web, sign_bundle(bundle, key))
    assert (answer.status_code, answer.json()["id"]) == (200, run["id"])
    assert (
        web.client.get(f"/api/v1/runs/{run['id']}").json()["contributed"]["signed_by"]["name"] == "lab-h100"
    )


def test_what_the_unsigned_copy_said_of_itself_is_not_vouched_for(
    web: Web, bundle: dict[str, Any], key: bytes
) -> None:
    """Somebody sends the evidence first, unsigned, with another time and version. It is not in its digest."""
    altered = json.loads(json.dumps(bundle))
    altered["made_by"]["samehere"] = "99.1"
    altered["run"] |= {"created_at": "2001-01-01T00:00:00+00:00"}
    altered["run"]["plan"] |= {"preset": None, "at_most": 77}
    run = send(web, with_digest(altered)).json()
    assert run["contributed"]["samehere"] == "99.1"
    assert send(web, sign_bundle(bundle, key)).json()["id"] == run["id"]
    signed = web.client.get(f"/api/v1/runs/{run['id']}").json()
    assert signed["contributed"]["signed_by"]["name"] == "lab-h100"
    assert signed["contributed"]["samehere"] == bundle["made_by"]["samehere"]
    assert not signed["contributed"]["ran_at"].startswith("2001")
    again = web.client.get(f"/api/v1/runs/{run['id']}/bundle").json()
    assert again["run"]["plan"] == bundle["run"]["plan"]


def test_both_alphabets_and_a_missing_key_id_are_accepted(
    web: Web, bundle: dict[str, Any], key: bytes
) -> None:
    envelope = resign(statement_of(bundle), key)
    envelope["payload"] = envelope["payload"].replace("+", "-").replace("/", "_").rstrip("=")
    stranger = sign_bundle(bundle, Ed25519PrivateKey.generate().private_bytes_raw())
    envelope["signatures"] = [*stranger["signatures"], *envelope["signatures"]]
    answer = send(web, envelope)
    assert answer.status_code == 201, answer.text


def in_payload(old: bytes, new: bytes) -> Change:
    """Change bytes of the payload, and leave its signature."""

    def change(envelope: dict[str, Any]) -> None:
        payload = base64.b64decode(envelope["payload"])
        assert old in payload
        envelope["payload"] = base64.b64encode(payload.replace(old, new, 1)).decode()

    return change


def flip_signature(envelope: dict[str, Any]) -> None:
    raw = bytearray(base64.b64decode(envelope["signatures"][0]["sig"]))
    raw[7] ^= 1
    envelope["signatures"][0]["sig"] = base64.b64encode(raw).decode()


def cut_signature(envelope: dict[str, Any]) -> None:
    envelope["signatures"][0]["sig"] = base64.b64encode(b"short").decode()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (in_payload(b'"exit_status":1', b'"exit_status":0'), "wrong_signature"),
        (in_payload(b"boom", b"bomb"), "wrong_signature"),
        (in_payload(b"elsewhere", b"lab-other"), "wrong_signature"),
        (in_payload(b'{"_type"', b'{ "_type"'), "wrong_signature"),
        (in_payload(b"urn:samehere:bundle:v1", b"urn:samehere:bundle:v2"), "wrong_signature"),
        (flip_signature, "wrong_signature"),
        (cut_signature, "wrong_signature"),
        (lambda envelope: envelope["signatures"][0].update(keyid="0" * 64), "unknown_signer"),
        (lambda envelope: envelope.update(signatures=[]), "bad_envelope"),
        (lambda envelope: envelope.update(signatures=envelope["signatures"] * 11), "bad_envelope"),
        (lambda envelope: envelope.update(signatures=["x"]), "bad_envelope"),
        (lambda envelope: envelope["signatures"][0].update(sig="*"), "bad_envelope"),
        (lambda envelope: envelope["signatures"][0].update(sig=None), "bad_envelope"),
        (lambda envelope: envelope.update(payload=7), "bad_envelope"),
        (lambda envelope: envelope.update(payloadType="application/json"), "other_envelope"),
    ],
)
def test_whatever_was_altered_is_refused(
    web: Web, bundle: dict[str, Any], key: bytes, change: Change, code: str
) -> None:
    envelope = sign_bundle(bundle, key)
    change(envelope)
    answer = send(web, envelope)
    assert (answer.status_code, answer.json()["code"]) == (422, code), answer.text


def test_a_signature_over_something_else_is_no_signature_of_a_bundle(
    web: Web, bundle: dict[str, Any], key: bytes
) -> None:
    other = {**statement_of(bundle), "predicateType": "https://slsa.dev/provenance/v1"}
    assert refusal(web, resign(other, key)) == "other_statement"
    subject = [{"name": "run x", "digest": {"sha256": "0" * 64}}]
    assert refusal(web, resign({**statement_of(bundle), "subject": subject}, key)) == "other_subject"
    assert refusal(web, resign({**statement_of(bundle), "predicate": None}, key)) == "other_subject"
    altered = {**bundle, "made_by": {**bundle["made_by"], "samehere": "9"}}
    assert refusal(web, resign(statement_of(altered), key)) == "bundle_altered"
    # The type is part of what is signed.
    envelope = resign(statement_of(bundle), key, payload_type="application/json")
    assert refusal(web, {**envelope, "payloadType": PAYLOAD_TYPE}) == "unknown_signer"


def test_a_stranger_and_a_revoked_key_vouch_for_nothing(web: Web, bundle: dict[str, Any], key: bytes) -> None:
    stranger = sign_bundle(bundle, Ed25519PrivateKey.generate().private_bytes_raw())
    assert refusal(web, stranger) == "unknown_signer"
    with web.stage.session() as session:
        assert revoke_keys(session, "lab-h100") == 1
    assert refusal(web, sign_bundle(bundle, key)) == "unknown_signer"


def test_a_report_that_speaks_of_envelopes_is_none() -> None:
    assert envelope_in(b'{"report": {"text": "\\"payloadType\\""}}') is None
    assert envelope_in(b'"payloadType"') is None
    assert envelope_in(b'{"payloadType"') is None
