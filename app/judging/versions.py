"""The number of the rules by which verdicts are reached; each verdict is kept with it."""

from __future__ import annotations

# Raise it with every change after which the same attempts may get another verdict: `samehere judge-again` then says which do.
RULES = 2
