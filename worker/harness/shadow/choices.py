"""Checks indices of the largest or least elements by what they choose; notes what rounding decides there.

Also notes differences with oneself, and what changes behind autograd's back.

`trace.py` loads it.
"""

import torch

shadow = globals()["shadow"]
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


def others(step, indices, near):
    """How many places have another index in one of `near`, where the chosen elements are not quite equal.

    `near` has the indices for inputs whose steps were rounded otherwise. Equal elements are a free choice.
    """
    plain, dim = step.args[0].detach(), argument_of(step, "dim", 1, None)
    if not plain.numel() or not plain.is_floating_point():
        return 0
    differs = torch.zeros(indices.numel(), dtype=torch.bool, device=plain.device)
    for values in (plain, step.views[id(step.args[0])][shadow.REFERENCE]):
        along = 0 if dim is None else dim
        values = values.reshape(-1) if dim is None else values
        values = values.movedim(along, 0).reshape(values.shape[along], -1)
        mine = values.gather(0, indices.reshape(1, -1))
        for each in near:
            theirs = values.gather(0, each.reshape(1, -1))
            differs |= ((theirs != mine) & ~(theirs.isnan() & mine.isnan()))[0]
    return int(differs.sum())


def decided_by_rounding(step, outputs, results):
    """How many indices beside largest or least elements, or failures of factorisations, rounding decides."""
    if len(results) != len(outputs):
        return 0
    if step.kind.name in ("max", "min") and len(outputs) == 2:
        return others(step, outputs[1], [results[1][copy] for copy in shadow.ROUNDED])
    return int(step.kind.name.endswith("_ex") and fails_by_rounding(outputs, results))


def fails_by_rounding(outputs, results):
    """Whether a factorisation fails for the script, and not in float64, or the other way round."""
    for tensor, result in zip(outputs, results):
        if tensor.dtype is torch.int32 and not tensor.dim():
            # The last output: 0 if all is well.
            exact = result[shadow.REFERENCE]
            return bool(tensor != 0) != bool(exact != 0)
    return False


def version_of(tensor):
    """How often torch has counted a change of the elements."""
    return 0 if tensor.is_inference() else tensor._version


def look_behind(table, step, numbers):
    """Note what backward reads though it was changed since, in a way that torch doesn't count: `.data`."""
    in_backward = torch._C._current_graph_task_id() >= 0
    for tensor in numbers:
        entry = step.entries[id(tensor)]
        if not in_backward:
            entry.version = version_of(tensor)
        elif version_of(tensor) < entry.version and not any(tensor is each for each in step.written):
            table.restart(step.number, step.name, "an input changed out of sight")


def note_itself(notes, step):
    """Note a difference of a tensor with itself: two names for one tensor, where one was to be a copy."""
    one, other = step.args[:2]
    if not isinstance(other, torch.Tensor) or one.shape != other.shape or len(notes) >= MOST_NOTES:
        return
    if one.data_ptr() == other.data_ptr() and one.stride() == other.stride() and one.numel():
        notes.append({"number": step.number, "name": step.name, "elements": one.numel()})
