"""What somebody with the broker's password may put into a queue."""

from __future__ import annotations

import base64
import json
import pickle
from typing import Any

from kombu.utils.uuid import uuid


def envelope(task: object, content: bytes | str, **more: Any) -> dict[str, Any]:
    """A message as Celery writes it, with other parts."""
    whole = {
        "body": base64.b64encode(content.encode() if isinstance(content, str) else content).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {
            "lang": "py",
            "task": task,
            "id": uuid(),
            "root_id": "r",
            "parent_id": None,
            "group": None,
        },
        "properties": {
            "correlation_id": uuid(),
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": "recorder"},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": uuid(),
        },
    }
    for name, value in more.items():
        part, _, field = name.partition("__")
        if field:
            whole[part][field] = value  # type: ignore[index]  # the parts with fields are objects
        else:
            whole[part.replace("content_", "content-")] = value
    return whole


def bad_messages(task: str) -> dict[str, bytes]:
    """Bytes for a queue by what is wrong with them. `task` is the one that the worker takes."""
    good = json.dumps([[{}], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}])
    deep = "[" * 100_000 + "]" * 100_000
    callback = json.dumps([[{}], {}, {"callbacks": [{"task": task, "args": [], "kwargs": {}}]}])
    missing = {name: envelope(task, good) for name in ("body", "headers", "properties", "content-type")}
    for name, message in missing.items():
        del message[name]
    raw = {
        "garbage": b"total garbage",
        "bytes": b"\x80\x04\xff\x00",
        "empty": b"",
        "pickle": pickle.dumps({"a": 1}),
        "deep envelope": deep.encode(),
        "a huge number": b'{"a": ' + b"9" * 10_000 + b"}",
    }
    messages: dict[str, Any] = {
        "a list": [1],
        "a number": 7,
        "null": None,
        **{f"no {name}": message for name, message in missing.items()},
        "a tag that is no text": envelope(task, good, properties__delivery_tag={"a": 1}),
        "a task that is no text": envelope({"a": 1}, good),
        "another task": envelope("celery.chord", good),
        "headers that are a text": envelope(task, good, headers="task"),
        "a pickled body": envelope(task, pickle.dumps([1]), content_type="application/x-python-serialize"),
        "yaml": envelope(task, "a: 1", content_type="application/x-yaml"),
        "another encoding": envelope(task, good, content_encoding="rot13"),
        "no base64": envelope(task, good, body="!!!"),
        "a body that is no json": envelope(task, "not json"),
        "a deep body": envelope(task, f"[[{deep}], {{}}, {{}}]"),
        "fifty deep": envelope(task, "[[" + "[" * 60 + "]" * 60 + "], {}, {}]"),
        "a body that is an object": envelope(task, "{}"),
        "too many arguments": envelope(task, "[[1, 2], {}, {}]"),
        "named arguments": envelope(task, '[[], {"a": 1}, {}]'),
        "callbacks": envelope(task, callback),
        "a type of kombu": envelope(task, '[[{"__type__": "datetime", "__value__": "x"}], {}, {}]'),
        "an expiry that is no time": envelope(task, good, headers__expires="never"),
        "a time limit that is no list": envelope(task, good, headers__timelimit=7),
        "an eta that is no time": envelope(task, good, headers__eta="never"),
    }
    return raw | {name: json.dumps(message).encode() for name, message in messages.items()}
