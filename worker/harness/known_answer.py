"""Runs on a card, in the sandbox: computes what has one right answer, and what is the same on every sound card of a model.

Standard library and torch only, Python 3.8 syntax. Prints one JSON object: `wrong` names each computation whose answer is not the
right one, `varies` each that gave two answers, `digests` the answers that only another card can confirm.
"""

import hashlib
import json
import sys

SIZE = 512
# So many products at once occupy every multiprocessor of any card.
COPIES = 64
PATTERNS = (0x00, 0xFF, 0xAA, 0x55)


def whole_numbers(torch, rows, columns, salt):
    """From -2 to 2: their sums of products are exact in every type that is tried."""
    steps = torch.arange(rows * columns, dtype=torch.int64)
    return ((steps * (2 * salt + 7919)) % 10007 % 5 - 2).reshape(rows, columns)


def fractions(torch, *shape):
    """Full mantissas, the same everywhere."""
    count = 1
    for length in shape:
        count *= length
    steps = torch.arange(count, dtype=torch.float64)
    return (torch.frac(steps * 0.6180339887498949) - 0.5).float().reshape(shape)


def products(torch, card):
    """Matrix products of whole numbers by each kind of unit, against the exact one."""
    left, right = whole_numbers(torch, SIZE, SIZE, 1), whole_numbers(torch, SIZE, SIZE, 2)
    exact = (left.double() @ right.double()).to(card)
    for name in ("float32", "float64", "float16", "bfloat16"):
        dtype = getattr(torch, name)
        # Of 16 bits the sums are cut to those that fit exactly.
        inner = SIZE if name in ("float32", "float64") else 64 if name == "bfloat16" else 256
        wanted = exact if inner == SIZE else (left[:, :inner].double() @ right[:inner].double()).to(card)
        a, b = left[:, :inner].to(card, dtype), right[:inner].to(card, dtype)
        found = torch.matmul(a.expand(COPIES, -1, -1), b.expand(COPIES, -1, -1)).double()
        yield "product " + name, bool((found == wanted).all())
    found = torch._int_mm(left.to(card, torch.int8), right.to(card, torch.int8)).double()
    yield "product int8", bool((found == exact).all())


def whole(torch, card):
    """Whole numbers through the other units: sums, order, indices, shifts."""
    steps = torch.arange(1 << 22, device=card)
    mixed = (steps * 2654435761) & 0xFFFFFFFF
    yield "sum", int(steps.sum()) == (1 << 21) * ((1 << 22) - 1)
    yield "sort", bool((mixed.sort()[0].diff() >= 0).all()) and int(mixed.sort()[0].sum()) == int(mixed.sum())
    yield "gather", bool((steps[steps.flip(0)] == steps.flip(0)).all())
    yield "shift", bool(((steps << 9 >> 9) == steps).all())
    counted = torch.zeros(1024, dtype=torch.int64, device=card).index_add_(
        0, steps % 1024, torch.ones_like(steps)
    )
    yield "atomics", bool((counted == 1 << 12).all())


def memory(torch, card, most):
    """What is written is read: several patterns over so many bytes of the card's memory."""
    free = torch.cuda.mem_get_info(card)[0]
    block = torch.empty(min(most, free // 2), dtype=torch.uint8, device=card)
    for pattern in PATTERNS:
        block.fill_(pattern)
        yield "memory %02x" % pattern, bool((block == pattern).all())


def rounded(torch, card):
    """Whose last bits are the model's and the libraries' own: equal on every sound card of it, whatever they are."""
    functional = torch.nn.functional
    x = fractions(torch, 256, 256).to(card)
    yield "float32", (x @ x.T)
    yield "float64", (x.double() @ x.double().T)
    yield "bfloat16", (x.bfloat16() @ x.bfloat16().T)
    yield "exp", (x * 20).exp()
    yield "sin", (x * 1000).sin()
    yield "rsqrt", x.abs().rsqrt()
    yield "softmax", x.softmax(1)
    yield "mean", x.mean(0)
    yield "fft", torch.view_as_real(torch.fft.fft2(x))
    image = fractions(torch, 4, 8, 32, 32).to(card)
    yield "convolution", functional.conv2d(image, fractions(torch, 16, 8, 3, 3).to(card), padding=1)
    query = fractions(torch, 2, 4, 64, 32).to(card)
    yield "attention", functional.scaled_dot_product_attention(query, query, query)


def digest(torch, value):
    data = value.detach().contiguous().view(torch.uint8).cpu().flatten()
    return hashlib.sha256(bytes(data.numpy() if hasattr(data, "numpy") else data.tolist())).hexdigest()[:16]


def main(most):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    wrong, varies, digests = [], [], {}
    cards = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    for index, card in enumerate(cards):
        for part in (products(torch, card), whole(torch, card), memory(torch, card, most)):
            wrong += ["%d: %s" % (index, name) for name, right in part if not right]
    # Atomics were to be tried as well; from here on only what is the same twice.
    torch.use_deterministic_algorithms(True, warn_only=True)
    for index, card in enumerate(cards):
        once = {name: digest(torch, value) for name, value in rounded(torch, card)}
        again = {name: digest(torch, value) for name, value in rounded(torch, card)}
        varies += ["%d: %s" % (index, name) for name in once if once[name] != again[name]]
        digests[str(index)] = once
    build = [str(torch.__version__), str(torch.version.cuda), str(torch.backends.cudnn.version())]
    print(json.dumps({"wrong": wrong, "varies": varies, "digests": digests, "build": build}))


main(int(sys.argv[1]))
