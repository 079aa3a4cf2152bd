"""Fixtures of the rules for the code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conventions.source_trees import forget


@pytest.fixture(scope="module", autouse=True)
def _trees_of_one_file() -> Iterator[None]:
    """No syntax tree outlives the file of tests that reads it."""
    yield
    forget()
