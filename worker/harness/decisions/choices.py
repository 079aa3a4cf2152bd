"""Checks indices of the largest or least elements by what they choose; finds orders that rounding decides.

Also notes differences with oneself, and what changes behind autograd's back.

`trace.py` loads it.
"""

import torch

shadow = globals()["shadow"]
MOST_NOTES = 5
CHOICES = {"aten::argmax", "aten::argmin"}
# Their second results are the indices of the first ones.
ORDERS = {"sort", "topk", "kthvalue", "median", "nanmedian", "max", "min"}
# Rounding carries a number so far: a multiple of what it moved the copies by, which may be little by chance.
SPREADS, SPREADS_OF_FEW, FEW = 3, 8, 16


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


def elements_as_good(step, indices):
    """How many indices of largest or least elements another rounding may change.

    Equal elements are a free choice.
    """
    plain, dim = step.args[0].detach(), argument_of(step, "dim", 1, None)
    if not plain.numel() or not plain.is_floating_point():
        return 0
    rows = step.views[id(step.args[0])]
    parts = [plain, rows[shadow.REFERENCE], reach_of(rows)]
    along = 0 if dim is None else dim
    parts = [each.reshape(-1) if dim is None else each for each in parts]
    parts = [each.movedim(along, 0).reshape(each.shape[along], -1) for each in parts]
    chosen = [each.gather(0, indices.reshape(1, -1)) for each in parts]
    (plain, exact, reach), (plain_there, exact_there, reach_there) = parts, chosen
    ahead = exact - exact_there if step.kind.name == "argmax" else exact_there - exact
    is_near = (ahead >= -(reach + reach_there)) & ((exact != exact_there) | (plain != plain_there))
    return int(is_near.any(0).sum())


def other_order(step, indices):
    """The indices with neighbours in another order, where another rounding allows it; and how many pairs."""
    named = dict(zip((each.name for each in step.func._schema.arguments), step.args))
    named.update(step.kwargs)
    values, dim = named["self"].detach(), named.get("dim", -1)
    if not values.dim() or not isinstance(dim, int) or values.shape[dim] < 2 or not values.numel():
        return indices, 0
    rows = step.views[id(named["self"])]
    falls = step.kind.name in ("max", "topk")
    falls = bool(named.get("descending", named.get("largest", falls)))
    parts = [values, rows[shadow.REFERENCE], reach_of(rows)]
    parts = [each.movedim(dim, -1) for each in parts]
    order = parts[0].sort(dim=-1, descending=falls, stable=True)[1]
    plain, exact, reach = (each.gather(-1, order) for each in parts)
    steps = exact.diff(dim=-1) * (-1 if falls else 1)
    near = (steps <= reach[..., 1:] + reach[..., :-1]) & ((steps != 0) | (plain.diff(dim=-1) != 0))
    first, last = place_of(step, named, values.shape[dim])
    near[..., : max(first - 1, 0)] = False
    near[..., last:] = False
    elements = int(near.sum())
    if not elements:
        return indices, 0
    other = in_other_order(order, near)[..., first:last].movedim(-1, dim)
    return other.reshape(indices.shape), elements


def place_of(step, named, length):
    """The places of the elements that an operation gives, first and last, in the order of all."""
    if step.kind.name == "sort":
        return 0, length
    if step.kind.name == "topk":
        return 0, named["k"]
    at = {"kthvalue": named.get("k", 1) - 1, "median": (length - 1) // 2}.get(step.kind.name, 0)
    return at, at + 1


def in_other_order(order, near):
    """Indices with these neighbours in the other order: of a run of neighbours the first two."""
    before = torch.cat([torch.zeros_like(near[..., :1]), near[..., :-1]], -1)
    first = (near & ~before).to(torch.int64)
    places = torch.arange(order.shape[-1], device=order.device).expand(order.shape).clone()
    places[..., :-1] += first
    places[..., 1:] -= first
    return order.gather(-1, places)


def unique_elements(step, values):
    """The shadows of distinct elements, and how many pairs of elements are one or two by rounding."""
    plain, rows = step.args[0].detach().reshape(-1), step.views[id(step.args[0])]
    rows = rows.reshape(len(rows), -1)
    order = plain.sort()[1]
    ordered, exact = plain[order], rows[shadow.REFERENCE][order]
    shadows = rows[:, order[torch.searchsorted(ordered, values)]]
    exact, by_size = exact.sort()
    reach, ordered = reach_of(rows)[order][by_size], ordered[by_size]
    gaps = exact.diff()
    near = (gaps <= reach[1:] + reach[:-1]) & ((gaps != 0) | (ordered.diff() != 0))
    return shadows, int(near.sum())


def reach_of(rows):
    """How far rounding may carry each element of a shadow: all zeros where nothing was rounded."""
    reference = rows[shadow.REFERENCE]
    spreads = torch.stack([(rows[at] - reference).abs() for at in shadow.ROUNDED]).max(0)[0]
    spreads = spreads.nan_to_num(0.0, 0.0, 0.0)
    return spreads * (SPREADS_OF_FEW if reference.numel() < FEW else SPREADS)


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
