"""Values that GitHub's public schema accepts, filled where a test says nothing."""

from __future__ import annotations

import types
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from githubkit.utils import UNSET
from pydantic import BaseModel

MOMENT = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)
# More nesting than this has no field that a test looks at.
_PLAIN: dict[Any, Any] = {str: "x", int: 1, bool: False, float: 1.0, datetime: MOMENT, Any: None}


def filled(model: type[BaseModel], **given: Any) -> dict[str, Any]:
    """A value of a model as JSON, checked against it. `given` has fields by their names in JSON."""
    values = dict(given)
    for name, field in model.model_fields.items():
        if field.is_required() and (field.alias or name) not in values:
            values[field.alias or name] = _example(field.annotation)
    return model.model_validate(values).model_dump(mode="json", by_alias=True, exclude_unset=True)


def _example(kind: Any) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated or origin is Literal:
        return _example(parts[0]) if origin is Annotated else parts[0]
    if origin in {Union, types.UnionType}:
        choices = [part for part in parts if part is not type(UNSET)]
        return None if type(None) in choices else _example(choices[0])
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return filled(kind)
    return {list: [], dict: {}}.get(origin, _PLAIN.get(kind))
