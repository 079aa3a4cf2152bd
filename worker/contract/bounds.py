"""Types with bounds: every field of a message and of a bundle has one of them.

Text from elsewhere that is too long, and a number out of range, is refused where it arrives. Our own
explanations are cut instead, so that a node never fails to report because a tool's message is long.
"""

from __future__ import annotations

import sys
from typing import Annotated

from pydantic import BeforeValidator, Field

from worker.contract.names import CAPABILITY, CARD_NAME, NODE_NAME, TOOLCHAIN_NAME

MOST_NAME = 200
MOST_TEXT = 4_096
MOST_EXPLANATION = 8_192
# A stream is limited by the settings `stream_bytes` and `result_bytes`; this is the bound of any setting.
MOST_STREAM = 2**28
MOST_DIMENSIONS = 64
# JSON readers agree on whole numbers up to here.
MOST_COUNT = 2**53


def _cut(most: int) -> BeforeValidator:
    return BeforeValidator(lambda value: value[:most] if isinstance(value, str) else value)


# Ids, codes, versions, and names of packages.
Name = Annotated[str, Field(max_length=MOST_NAME)]
Text = Annotated[str, Field(max_length=MOST_TEXT)]
Stream = Annotated[str, Field(max_length=MOST_STREAM)]
CutName = Annotated[str, Field(max_length=MOST_NAME), _cut(MOST_NAME)]
Explanation = Annotated[str, Field(max_length=MOST_EXPLANATION), _cut(MOST_EXPLANATION)]

# Names that stand in our own sentences. A pattern of pydantic has no other end than that of the text. The
# lengths are those of the patterns, for whoever reads the description only.
NodeName = Annotated[str, Field(max_length=64, pattern=f"^(?:{NODE_NAME.pattern})$")]
ToolchainName = Annotated[str, Field(max_length=100, pattern=f"^(?:{TOOLCHAIN_NAME.pattern})$")]
BaseName = Annotated[str, Field(max_length=100, pattern=f"^(?:{TOOLCHAIN_NAME.pattern})?$")]
CardName = Annotated[str, Field(max_length=96, pattern=f"^(?:{CARD_NAME.pattern})$")]
Capability = Annotated[str, Field(max_length=9, pattern=f"^(?:{CAPABILITY.pattern})$")]

Count = Annotated[int, Field(ge=0, lt=MOST_COUNT)]
# A count for which Postgres has 32 bits.
SmallCount = Annotated[int, Field(ge=0, lt=2**31)]
# Slots, cards, cores: no machine has more.
MachineCount = Annotated[int, Field(ge=0, le=2**16)]
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Number = Annotated[float, Field(ge=-sys.float_info.max, le=sys.float_info.max, allow_inf_nan=False)]
Size = Annotated[float, Field(ge=0, le=sys.float_info.max, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
# Seconds since 1970.
Moment = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]

Shape = Annotated[list[Annotated[int, Field(ge=0, lt=2**63)]], Field(max_length=MOST_DIMENSIONS)]
# Strict, so that a text that is too long is not read as a number.
Scalar = (
    Text
    | Annotated[Whole, Field(strict=True)]
    | Annotated[Number, Field(strict=True)]
    | Annotated[bool, Field(strict=True)]
    | None
)
Names = Annotated[list[Name], Field(max_length=1_000)]
Facts = Annotated[dict[Name, Scalar], Field(max_length=1_000)]
# Package names and their versions.
Packages = Annotated[dict[Name, Name], Field(max_length=10_000)]
# The values of a target's settings by name.
SettingValues = Annotated[dict[Name, Name], Field(max_length=100)]
# The facts of a machine and a toolchain by dotted name (`torch.version`, `cpu.model`, `blas.path`). It is
# flat, so that two environments can be compared field by field.
Environment = Annotated[
    dict[Name, Scalar | Annotated[list[Text], Field(max_length=1_000)]], Field(max_length=10_000)
]
