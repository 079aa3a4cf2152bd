"""Where a webhook may go: addresses, names that lie, and TLS that keeps the name."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpcore2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from webhook_receiver import Receiver, Reply, receiving

from app.clock import now
from app.errors import InputError
from app.runs.webhooks import address
from app.runs.webhooks.address import check_url, is_public
from app.runs.webhooks.post import Post

PUBLIC = "93.184.216.34"
PRIVATE = [
    "127.0.0.1",
    "127.9.9.9",
    "0.0.0.0",  # noqa: S104  # an address to refuse
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "fc00::1",
    "fd12:3456::1",
    "ff02::1",
    "2001:db8::1",
]


@pytest.mark.parametrize("text", PRIVATE)
def test_addresses_that_are_not_public(text: str) -> None:
    assert not is_public(text)


@pytest.mark.parametrize("text", [PUBLIC, "1.1.1.1", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::"])
def test_public_addresses(text: str) -> None:
    assert is_public(text)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "news",
        "//bot.example/",
        "http://bot.example/",
        "ftp://bot.example/",
        "file:///etc/passwd",
        "https://",
        "https:///news",
        "https://user@bot.example/",
        "https://user:secret@bot.example/",
        "https://bot.example/#part",
        "https://bot.example:99999/",
        "https://0177.0.0.1/",
        "https://bot.example/\nHost: x",
        "https://bot.example/" + "x" * 2000,
        *(f"https://{text}/" for text in PRIVATE if ":" not in text),
        *(f"https://[{text}]/" for text in PRIVATE if ":" in text),
    ],
)
def test_addresses_that_no_webhook_may_have(url: str) -> None:
    with pytest.raises(InputError) as caught:
        check_url(url, private=False)
    assert caught.value.field == "url"


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "localhost"])
def test_names_that_are_addresses_in_disguise(host: str) -> None:
    assert check_url(f"https://{host}/", private=False)
    with pytest.raises(address.PrivateAddressError):
        list(address.checked_addresses(host, 443, private=False))


def test_an_address_in_its_normal_form() -> None:
    assert check_url("HTTPS://Bücher.example/a?b=c", private=False) == "https://xn--bcher-kva.example/a?b=c"
    assert check_url("http://127.0.0.1:8080/", private=True) == "http://127.0.0.1:8080/"


def leads_to(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Let each lookup of a name answer the next of these; the names that were looked up."""
    lookups: list[str] = []
    real = socket.getaddrinfo

    def look_up(host: Any, port: Any, *more: Any, **options: Any) -> Any:
        try:
            ipaddress.ip_address(host)
        except ValueError:
            lookups.append(host)
            answer = answers[min(len(lookups), len(answers)) - 1]
            return [entry for text in answer for entry in real(text, port, type=socket.SOCK_STREAM)]
        return real(host, port, *more, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return lookups


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.mark.parametrize("answer", [["127.0.0.1"], ["::1", "127.0.0.1"], ["10.0.0.1", "169.254.169.254"]])
def test_a_name_that_leads_to_private_addresses_gets_nothing(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver, answer: list[str]
) -> None:
    leads_to(monkeypatch, answer)
    with Post(seconds=5, private=False) as post:
        outcome = post.send(f"http://receiver.example:{receiver.port}/", {}, b"{}")
    assert (outcome.problem, outcome.status, receiver.arrivals) == ("private_address", None, [])


def test_a_name_that_changes_its_answer_leads_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    """The first answer is public. Whoever looked the name up once more would reach loopback."""
    lookups = leads_to(monkeypatch, [PUBLIC, "127.0.0.1"], ["127.0.0.1"])
    tried: list[str] = []

    def connect(_backend: Any, host: str, port: int, **_more: Any) -> Any:
        tried.append(f"{host}:{port}")
        raise httpcore2.ConnectError

    monkeypatch.setattr(httpcore2.SyncBackend, "connect_tcp", connect)
    with Post(seconds=5, private=False) as post:
        outcome = post.send(f"http://receiver.example:{receiver.port}/", {}, b"{}")
    assert tried == [f"{PUBLIC}:{receiver.port}"]
    assert lookups == ["receiver.example"]
    assert (outcome.problem, receiver.arrivals) == ("no_connection", [])


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    with receiving() as elsewhere, Post(seconds=5, private=True) as post:
        receiver.reply = lambda _arrival: Reply(status=307, headers={"Location": elsewhere.url})
        outcome = post.send(receiver.url, {}, b"{}")
        assert (outcome.problem, outcome.status) == ("redirect", 307)
        assert (len(receiver.arrivals), elsewhere.arrivals) == (1, [])


@pytest.mark.parametrize("body", [b"", b"x" * 4096])
def test_an_answer_that_drips_ends_at_the_deadline(receiver: Receiver, body: bytes) -> None:
    receiver.reply = lambda _arrival: Reply(status=200, body=body, drip_seconds=0.05)
    with Post(seconds=0.3, private=True) as post:
        outcome = post.send(receiver.url, {}, b"{}")
    assert outcome.problem == "too_slow"


def test_a_long_answer_is_not_read_and_the_next_event_arrives(receiver: Receiver) -> None:
    receiver.reply = lambda _arrival: Reply(status=200, body=b"x" * 10_000_000)
    with Post(seconds=20, private=True) as post:
        assert [post.send(receiver.url, {}, b"{}").problem for _ in range(2)] == [None, None]
    assert len(receiver.arrivals) == 2


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch, receiver: Receiver) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Post(seconds=5, private=True) as post:
        assert post.send(receiver.url, {}, b"{}").problem is None


@pytest.mark.parametrize(("answer", "problem"), [(b"SSH-2.0-x\r\n\r\n", "bad_answer"), (b"", "bad_answer")])
def test_what_is_no_http(answer: bytes, problem: str) -> None:
    import threading

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        with Post(seconds=5, private=True) as post:
            outcome = post.send(f"http://127.0.0.1:{listener.getsockname()[1]}/", {}, b"{}")
        thread.join(5)
    assert outcome.problem == problem


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate of its own authority for a name, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now() - timedelta(days=1))
        .not_valid_after(now() + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


def test_tls_and_host_keep_the_name(
    monkeypatch: pytest.MonkeyPatch, receiver: Receiver, tmp_path: Path
) -> None:
    names: list[str | None] = []
    certificate_file, key_file = certificate(tmp_path, "receiver.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_file, key_file)
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    receiver.server.socket = context.wrap_socket(receiver.server.socket, server_side=True)
    leads_to(monkeypatch, ["127.0.0.1"])
    with Post(seconds=5, private=True) as post:
        url = f"https://receiver.example:{receiver.port}/news"
        assert post.send(url, {}, b"{}").problem == "certificate"
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate_file))
    with Post(seconds=5, private=True) as post:
        assert post.send(url, {}, b"{}").problem is None
        other = f"https://other.example:{receiver.port}/news"
        assert post.send(other, {}, b"{}").problem == "certificate"
    (arrival,) = receiver.arrivals
    assert arrival.headers["host"] == f"receiver.example:{receiver.port}"
    assert names == ["receiver.example", "receiver.example", "other.example"]
