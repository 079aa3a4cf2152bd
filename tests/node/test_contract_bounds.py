"""Every field of every message and of a bundle is bounded: in length, range, count and depth."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

import worker.contract
from app.runs.exchange import bundle
from app.targets.target import Target
from worker.contract import Environment, Gpu, Hello, Level, Observation, Reason, Result, ToolchainFacts
from worker.contract.bounds import MOST_EXPLANATION
from worker.contract.message import Message
from worker.contract.stored_message import read_stored
from worker.contract.versions import NO_VERSION, parse_release, parse_version

ROOT = Path(__file__).parents[2]
HUGE = "9" * 5_000


def models() -> list[type[BaseModel]]:
    for module in pkgutil.iter_modules(worker.contract.__path__, "worker.contract."):
        if not module.ispkg:
            importlib.import_module(module.name)
    return [*_below(Message), *_below(bundle._Part), Target]


def _below(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        if model.__module__.startswith(("app.", "worker.")):
            yield model
            yield from _below(model)


_ENDS = {"maximum", "exclusiveMaximum"}, {"minimum", "exclusiveMinimum"}
_NESTED = {"anyOf", "oneOf", "allOf", "items", "prefixItems", "additionalProperties"}


def lacks(schema: dict[str, Any]) -> str | bool:
    """The bound that one JSON schema lacks; True if it lacks none."""
    if not schema.keys() - {"title", "description", "default"}:
        return "any value"
    names = schema.get("propertyNames") or next(iter(schema.get("patternProperties", {}).values()), {})
    is_open = "enum" not in schema and "const" not in schema
    ends = [bool(schema.keys() & end) for end in _ENDS]
    return {
        "string": not is_open or "maxLength" in schema or schema.get("format") == "date-time",
        "integer": not is_open or all(ends),
        "number": not is_open or all(ends),
        "array": "maxItems" in schema,
        "object": "properties" in schema or ("maxProperties" in schema and "maxLength" in names),
    }.get(schema.get("type", ""), True) or f"no bound of {schema['type']}"


def unbounded(schema: Any, place: str) -> Iterator[str]:
    """The places of a JSON schema that take a value of any size."""
    if isinstance(schema, list):
        for number, item in enumerate(schema):
            yield from unbounded(item, f"{place}[{number}]")
    if not isinstance(schema, dict):
        return
    lack = lacks(schema)
    if isinstance(lack, str):
        yield f"{place}: {lack}"
    for name, inner in schema.items():
        if name in {"properties", "$defs"}:
            for field, content in inner.items():
                yield from unbounded(content, f"{place}.{field}")
        elif name in _NESTED:
            yield from unbounded(inner, place)


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_every_field_is_bounded(model: type[BaseModel]) -> None:
    assert list(unbounded(model.model_json_schema(), model.__name__)) == []


def test_the_walk_finds_each_kind_of_field_without_a_bound() -> None:
    class Careless(BaseModel):
        text: str
        whole: int = Field(ge=0)
        number: float = Field(le=1)
        texts: list[bool]
        facts: dict[str, bool]
        anything: Any

    found = "\n".join(unbounded(Careless.model_json_schema(), "Careless"))
    for field in ("text", "whole", "number", "texts", "facts", "anything"):
        assert f"Careless.{field}: " in found


def _hello(**fields: Any) -> dict[str, Any]:
    return {"node": "n", "instance": "i", "slots": 1, "level": Level.NAMESPACES, **fields}


def _toolchain(**fields: Any) -> dict[str, Any]:
    return {"name": "t", "state": "ready", **fields}


def _observed(**fields: Any) -> dict[str, Any]:
    number = {"name": "x", "dtype": "torch.float32"}
    return {"values": [{**number, **fields}]}


def _card(**fields: Any) -> dict[str, Any]:
    return {"index": 0, "model": "m", "memory_bytes": 1, "capability": "9.0", "driver": "5", **fields}


ABSURD: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (Hello, _hello(slots=10**30)),
    (Hello, _hello(slots=-1)),
    (Hello, _hello(previews=10**30)),
    (Hello, _hello(cores=2**40)),
    (Hello, _hello(node="n" * 300)),
    (Hello, _hello(toolchains=[_toolchain()] * 5_000)),
    (ToolchainFacts, _toolchain(torch=HUGE)),
    (ToolchainFacts, _toolchain(packages={"numpy": HUGE})),
    (ToolchainFacts, _toolchain(packages={HUGE: "1"})),
    (Gpu, _card(sound_at=float("nan"))),
    (Gpu, _card(sound_at=float("inf"))),
    (Gpu, _card(model="H" * 5_000)),
    (Observation, _observed(shape=[2] * 50_000)),
    (Observation, _observed(shape=[-1])),
    (Observation, _observed(dtype="f" * 5_000)),
    (Observation, {"flags": {"a": HUGE}}),
    (Observation, {"flags": {HUGE: 1}}),
    (Observation, {"wall_seconds": float("nan")}),
    (Observation, {"peak_memory_bytes": 10**30}),
    (Target, {"toolchain": HUGE}),
]


@pytest.mark.parametrize(("model", "data"), ABSURD)
def test_absurd_values_are_refused(model: type[BaseModel], data: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        model.model_validate(data)


@pytest.mark.parametrize("value", [HUGE, float("nan"), 10**400, ["1"] * 5_000, {"deep": 1}, [["deep"]]])
def test_absurd_facts_of_an_environment_are_refused(value: Any) -> None:
    facts: TypeAdapter[Any] = TypeAdapter(Environment)
    assert facts.validate_python({"torch.version": "9" * 50}) == {"torch.version": "9" * 50}
    with pytest.raises(ValidationError):
        facts.validate_python({"torch.version": value})


def test_our_own_explanations_are_cut() -> None:
    assert len(Reason(code="toolchain_failed", detail="x" * 10**6).detail) == MOST_EXPLANATION


@pytest.mark.parametrize("text", [HUGE, "", None, 7, "main", "1." * 3_000, "v" + "1" * 199])
def test_no_text_makes_the_reading_of_a_version_raise(text: object) -> None:
    parse_version(text)
    assert parse_release(text) >= NO_VERSION


def test_versions_are_read_in_one_place_only() -> None:
    """`Version(text)` raises two kinds of errors, and only one of them is the documented one."""

    def reads(node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "Version"
            and not (isinstance(node.args[0], ast.Constant) or ast.unparse(node.args[0]).endswith(".public"))
        )

    assert reads(ast.parse("Version(name)", mode="eval").body)
    found = [
        str(path.relative_to(ROOT))
        for folder in ("app", "worker")
        for path in (ROOT / folder).rglob("*.py")
        if any(reads(node) for node in ast.walk(ast.parse(path.read_text())))
    ]
    # The fields of a lock are validated before it is written.
    assert sorted(found) == ["worker/contract/versions.py", "worker/toolchains/locking/lock.py"]


def test_one_bad_part_of_a_stored_message_leaves_the_rest() -> None:
    toolchains = [_toolchain(torch="2.1"), _toolchain(torch=HUGE), _toolchain(torch="2.2")]
    stored = _hello(toolchains=toolchains, cores=10**30)
    hello = read_stored(Hello, stored)
    assert ([facts.torch for facts in hello.toolchains], hello.cores) == (["2.1", "2.2"], 1)
    assert (stored["toolchains"], len(toolchains)) == (toolchains, 3)
    result = {"node": "n", "instance": "i", "attempt_id": "a", "lease_no": 1, "outcome": "completed"}
    observed = {**_observed(shape=[2] * 50_000), "stdout": "yes"}
    environment = {"torch.version": HUGE, "os.name": "linux"}
    read = read_stored(Result, {**result, "observation": observed, "environment": environment})
    assert (read.observation.values, read.observation.stdout) == ([], "yes")
    assert read.environment == {"os.name": "linux"}
    with pytest.raises(ValidationError):
        read_stored(Hello, _hello(slots=10**30))
