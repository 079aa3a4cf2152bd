"""Reads the layout of a report before its words are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.intake.layout.cells.changed_code import with_changed_code
from app.intake.layout.cells.errors_in_passing import without_errors_in_passing
from app.intake.layout.cells.praise_below import with_praise_below
from app.intake.layout.cells.prints_in_prose import with_prints_in_prose
from app.intake.layout.cells.tables_of_calls import with_tables_of_calls
from app.intake.layout.commented_blocks import with_captioned_sections, with_commented_outputs
from app.intake.layout.diff_blocks import with_sides_of_diffs
from app.intake.layout.displayed_objects import with_displayed_objects
from app.intake.layout.headed_values import with_headed_values, with_labelled_values
from app.intake.layout.labelled_blocks import with_split_blocks
from app.intake.layout.outputs_in_place import (
    with_bare_outputs,
    with_expected_code,
    with_outputs_at_their_code,
    with_outputs_of_commands,
    with_values_of_controls,
    with_values_of_labels,
)
from app.intake.layout.paired_outputs import with_captions_of_headings, with_places_of_pairs
from app.intake.layout.quoted_replies import without_quoted_replies
from app.intake.layout.repeated_inputs import with_repeated_inputs
from app.intake.layout.results_in_prose import with_results_in_prose
from app.intake.layout.side_tables import with_tables_of_sides
from app.intake.layout.source_forms import with_data_as_output, with_indented_outputs
from app.intake.layout.version_rows import with_results_of_versions
from app.intake.snippets.parts import Part
from app.intake.text.markdown import Block

# Each pass sees what the ones above made of the parts.
_PASSES: tuple[Callable[[Sequence[Part]], list[Part]], ...] = (
    with_captioned_sections,
    with_repeated_inputs,
    with_outputs_of_commands,
    with_values_of_labels,
    with_values_of_controls,
    with_bare_outputs,
    with_results_of_versions,
    with_tables_of_calls,
    with_tables_of_sides,
    with_expected_code,
    with_commented_outputs,
    with_displayed_objects,
    with_split_blocks,
    with_headed_values,
    with_labelled_values,
    with_outputs_at_their_code,
    with_captions_of_headings,
    with_places_of_pairs,
    with_results_in_prose,
    with_prints_in_prose,
    with_praise_below,
)


def arranged_blocks(blocks: Sequence[Block], title: str = "") -> list[Block]:
    """The blocks of a report, without quoted replies, and with a block for each side of a diff."""
    own = without_errors_in_passing(without_quoted_replies(blocks), title)
    return with_indented_outputs(with_data_as_output(with_changed_code(with_sides_of_diffs(own))))


def arrange(parts: Sequence[Part]) -> list[Part]:
    """The parts of a report, in which each output stands alone below its own caption."""
    for read in _PASSES:
        parts = read(parts)
    return [*parts]
