"""Version numbers of the rules. Results of older rules are recognised by these numbers and computed again.

`tests/service/test_rule_versions.py` fails when a result changes and its number does not.
"""

from __future__ import annotations

# Raise this when the same attempts may get another verdict. `samehere judge-again` then lists the verdicts
# that change.
JUDGING_RULES = 50
# Raise this when the comparison of the same two attempts may change. Stored comparisons are then computed
# again.
COMPARISON_RULES = 3
# Raise this when a report must be found by other words or facets. `python -m app.serve.backfill search` then
# indexes all reports again.
INDEX_RULES = 3
# Raise this when anything else in a run object changes. Cached run objects are then assembled again.
DOCUMENT_VERSION = 36
