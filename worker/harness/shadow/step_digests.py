"""Digests of a script's operations, so that two executions can be held against each other elsewhere."""

import base64
import ctypes
import hashlib
import struct

import torch

# The first operations; more would make a result large.
MOST_STEPS = 1000
MOST_KIND = 160
# Elements of a result that travel: enough to say how far two executions are apart.
SAMPLES = 6


def digest(tensors, words=""):
    """Eight hex digits for the bits of tensors on the CPU, and for a text."""
    total = hashlib.blake2b(words.encode("ascii", "replace"), digest_size=4)
    for tensor in tensors:
        plain = tensor.resolve_conj().resolve_neg().contiguous()
        total.update(ctypes.string_at(plain.data_ptr(), plain.numel() * plain.element_size()))
    return total.hexdigest()


def sample(outputs):
    """Some elements of the first output, its sum and its sum of absolute values, as base64 of 8 float64.

    The places depend on the number of elements alone, so two executions can be held against each other.
    """
    values = outputs[0].detach().resolve_conj().resolve_neg() if outputs else torch.zeros(1)
    flat = (torch.view_as_real(values) if values.is_complex() else values).reshape(-1)
    last = flat.numel() - 1
    if last < 0:
        return base64.b64encode(struct.pack("<8d", *([0.0] * (SAMPLES + 2)))).decode("ascii")
    places = torch.tensor([last * each // (SAMPLES - 1) for each in range(SAMPLES)])
    wide = flat.double()
    numbers = [*wide[places].tolist(), float(wide.sum()), float(wide.abs().sum())]
    return base64.b64encode(struct.pack("<8d", *numbers)).decode("ascii")


def kind_of(name, inputs):
    """An operation with the types and shapes of its inputs: "aten::mm(float32 4x16, float32 16x8)"."""
    words = ["%s %s" % (str(each.dtype)[6:], "x".join(map(str, each.shape))) for each in inputs]
    return ("%s(%s)" % (name, ", ".join(word.strip() for word in words)))[:MOST_KIND]


def plain_values(value):
    """Nested arguments with a mark for each tensor: the numbers and flags of an operation."""
    if isinstance(value, (list, tuple)):
        return [plain_values(item) for item in value]
    return "tensor" if hasattr(value, "data_ptr") else value


def digests_of(operations, inputs_of, dropped):
    """The keys `kinds`, `steps` and `samples` of the report's line.

    `inputs_of` gives the tensors of an operation; `dropped`: how many others there were.
    """
    kinds, steps, samples = {}, [], []
    for operation in operations[:MOST_STEPS]:
        inputs = list(inputs_of(operation))
        kind = kinds.setdefault(kind_of(operation.name, inputs), len(kinds))
        words = repr(plain_values([operation.args, sorted(operation.kwargs.items())]))
        steps.append("%d:%d:%s:%s" % (operation.number, kind, digest(inputs, words), digest(operation.out)))
        samples.append(sample(operation.out))
    omitted = max(0, len(operations) - MOST_STEPS) + dropped
    return {"kinds": list(kinds), "steps": steps, "samples": samples, "steps_omitted": omitted}
