"""Tells formulas apart by the last operations that gave a tensor, and by their numbers.

`trace.py` loads it.
"""

import torch

# So many operations back from the result.
DEPTH = 4
# For values that the script began with, also if it updates them in place, as weights.
BEGINNING = (0,) * DEPTH


def formula_of(step):
    """For each depth a number that stands for the operations up to there."""
    constants, parents = [step.name], []
    collect(step.args, step.entries, constants, parents)
    if step.kwargs:
        collect(step.kwargs.values(), step.entries, constants, parents)
    levels = [hash(tuple(constants))]
    for at in range(DEPTH - 1):
        levels.append(hash((levels[0], *[parent[at] for parent in parents])))
    return tuple(levels)


def collect(values, entries, constants, parents):
    """Add the numbers of a call to its constants, and the formulas of its tensors to the parents."""
    for value in values:
        if isinstance(value, torch.Tensor):
            entry = entries.get(id(value))
            parents.append(BEGINNING if entry is None else entry.formula or BEGINNING)
            # A part of a tensor is not the same as all of it.
            constants.append(entry is not None and entry.length != value.numel())
        elif isinstance(value, (list, tuple)):
            collect(value, entries, constants, parents)
        elif isinstance(value, (int, float)):
            constants.append(value)


def update(entry, step):
    """Note that an operation wrote to what an entry stands for."""
    if entry.formula:
        entry.formula = formula_of(step)
    entry.maker = step.name
