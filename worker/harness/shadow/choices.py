"""Checks indices of the largest or least elements by what they choose; notes differences with oneself.

`trace.py` loads it.
"""

import torch

MOST_NOTES = 5
CHOICES = {"aten::argmax", "aten::argmin"}


def argument_of(call, name, at, default):
    """An argument of a call by its name or its place."""
    return call.args[at] if at < len(call.args) else call.kwargs.get(name, default)


def look(step, indices):
    """Whether the indices choose a best element each, and whether one of them has an equal beside it.

    Says (False, False) if there is a NaN: which of these is chosen is left to the clean process.
    """
    values = step.args[0].detach()
    if not values.numel() or not values.is_floating_point() or bool(torch.isnan(values).any()):
        return False, False
    dim = argument_of(step, "dim", 1, None)
    if dim is None:
        values, dim = values.reshape(-1), 0
    values = values.movedim(dim, 0).reshape(values.shape[dim], -1)
    best = values.amax(0) if step.kind.full_name == "aten::argmax" else values.amin(0)
    places = indices.detach().reshape(1, -1)
    if places.shape[1] != values.shape[1] or int(places.min()) < 0 or int(places.max()) >= len(values):
        return False, False
    is_right = torch.equal(values.gather(0, places)[0], best)
    return is_right, bool(((values == best).sum(0) > 1).any())


def note_itself(notes, step):
    """Note a difference of a tensor with itself: two names for one tensor, where one was to be a copy."""
    one, other = step.args[:2]
    if not isinstance(other, torch.Tensor) or one.shape != other.shape or len(notes) >= MOST_NOTES:
        return
    if one.data_ptr() == other.data_ptr() and one.stride() == other.stride() and one.numel():
        notes.append({"number": step.number, "name": step.name, "elements": one.numel()})
