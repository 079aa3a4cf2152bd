"""Checks cards from inside the sandbox: some answers are known, others are equal on all cards of a model.

The argument is the number of bytes of card memory to check. Prints one JSON object, which
`worker.cards.health` reads:

    wrong    list[str]  "CARD: NAME" of each computation that gave a wrong answer; CARD counts from 0
    varies   list[str]  "CARD: NAME" of each computation that gave two different answers
    digests  object     by card, then by computation: 16 hex digits of the answer, equal on all good cards of
                        a model
    build    list[str]  versions of torch, CUDA and cuDNN

Standard library and torch only, Python 3.8 syntax.
"""

import hashlib
import json
import sys

SIZE = 512
# This many products at once occupy every multiprocessor of any card.
COPIES = 64
PATTERNS = (0x00, 0xFF, 0xAA, 0x55)


def small_integers(torch, rows, columns, salt):
    """An int64 matrix of numbers from -2 to 2: sums of their products are exact in every checked dtype."""
    steps = torch.arange(rows * columns, dtype=torch.int64)
    return ((steps * (2 * salt + 7919)) % 10007 % 5 - 2).reshape(rows, columns)


def fractions(torch, *shape):
    """A float32 tensor of numbers between -0.5 and 0.5 with full mantissas, the same on every machine."""
    count = 1
    for length in shape:
        count *= length
    steps = torch.arange(count, dtype=torch.float64)
    return (torch.frac(steps * 0.6180339887498949) - 0.5).float().reshape(shape)


def products(torch, card):
    """Yield a name, and whether the matrix product in that dtype is the exact one."""
    left, right = small_integers(torch, SIZE, SIZE, 1), small_integers(torch, SIZE, SIZE, 2)
    exact = (left.double() @ right.double()).to(card)
    for name in ("float32", "float64", "float16", "bfloat16"):
        dtype = getattr(torch, name)
        # 16 bits hold only shorter sums exactly.
        inner = SIZE if name in ("float32", "float64") else 64 if name == "bfloat16" else 256
        expected = exact if inner == SIZE else (left[:, :inner].double() @ right[:inner].double()).to(card)
        a, b = left[:, :inner].to(card, dtype), right[:inner].to(card, dtype)
        product = torch.matmul(a.expand(COPIES, -1, -1), b.expand(COPIES, -1, -1)).double()
        yield "product " + name, bool((product == expected).all())
    product = torch._int_mm(left.to(card, torch.int8), right.to(card, torch.int8)).double()
    yield "product int8", bool((product == exact).all())


def integers(torch, card):
    """Yield a name, and whether the result is right, for sums, sorting, indexing, shifts and atomics."""
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
    """Yield a name, and whether memory gives back a pattern; `most` bytes, at most half of the free ones."""
    free = torch.cuda.mem_get_info(card)[0]
    block = torch.empty(min(most, free // 2), dtype=torch.uint8, device=card)
    for pattern in PATTERNS:
        block.fill_(pattern)
        yield "memory %02x" % pattern, bool((block == pattern).all())


def rounding(torch, card):
    """Yield a name and a tensor whose last bits depend on the model and the libraries, not on the card."""
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
    """The first 16 hex digits of the SHA-256 of a tensor's bytes."""
    data = value.detach().contiguous().view(torch.uint8).cpu().flatten()
    return hashlib.sha256(bytes(data.numpy() if hasattr(data, "numpy") else data.tolist())).hexdigest()[:16]


def main(most):
    """Check all cards, with `most` bytes of each card's memory, and print the answer."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    wrong, varies, digests = [], [], {}
    cards = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
    for index, card in enumerate(cards):
        for part in (products(torch, card), integers(torch, card), memory(torch, card, most)):
            wrong += ["%d: %s" % (index, name) for name, right in part if not right]
    # The checks above use atomics, which this mode forbids. The digests below need equal bits each time.
    # `use_deterministic_algorithms` also imports torch's compiler for its setting: 4.4 s on an H200.
    torch.set_deterministic_debug_mode("warn")
    for index, card in enumerate(cards):
        first = {name: digest(torch, value) for name, value in rounding(torch, card)}
        second = {name: digest(torch, value) for name, value in rounding(torch, card)}
        varies += ["%d: %s" % (index, name) for name in first if first[name] != second[name]]
        digests[str(index)] = first
    build = [str(torch.__version__), str(torch.version.cuda), str(torch.backends.cudnn.version())]
    print(json.dumps({"wrong": wrong, "varies": varies, "digests": digests, "build": build}))


main(int(sys.argv[1]))
