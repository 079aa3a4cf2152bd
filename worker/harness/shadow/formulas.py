"""Tells formulas apart by the operations that gave a tensor, and by their numbers.

`trace.py` loads it.
"""

import torch


def formula_of(step):
    """A number that stands for the operations that gave a result, back to what the script began with.

    0 stands for that, also if the script updates it in place, as weights.
    """
    parts = [step.name]
    collect(step.args, step.entries, parts)
    if step.kwargs:
        collect(step.kwargs.values(), step.entries, parts)
    return hash(tuple(parts)) or 1


def collect(values, entries, parts):
    """Add the numbers of a call, and the formulas of its tensors."""
    for value in values:
        if isinstance(value, torch.Tensor):
            entry = entries.get(id(value))
            # A part of a tensor is not the same as all of it.
            parts.append((entry.formula, entry.length == value.numel()) if entry is not None else None)
        elif isinstance(value, (list, tuple)):
            collect(value, entries, parts)
        elif isinstance(value, (int, float)):
            parts.append(value)


def update(entry, step):
    """Note that an operation wrote to what an entry stands for."""
    if entry.formula:
        entry.formula = formula_of(step)
    entry.maker = step.name
