"""Has `torch.compile` stop after one of its layers, whatever backend the script asks for.

`watch.py` loads it for the setting `compile`. A layer is a backend of torch that runs all layers before it:
`eager` only captures graphs, `aot_eager` also traces backward and removes writing in place, `decomposed` also
replaces operations by their decompositions, `inductor` generates code. `off` is an environment variable.
"""

import sys

BACKENDS = {
    "eager": "eager",
    "aot_eager": "aot_eager",
    "decomposed": "aot_eager_decomp_partition",
    "inductor": "inductor",
}


def start(layer, torch):
    """Replace `torch.compile`; versions without it stay as they are."""
    compile_as_asked = getattr(torch, "compile", None)
    if layer not in BACKENDS or compile_as_asked is None:
        return

    def compile_to_layer(*args, **options):
        # Only some backends take these.
        options.pop("mode", None)
        options.pop("options", None)
        options["backend"] = BACKENDS[layer]
        return compile_as_asked(*args, **options)

    compile_to_layer.__wrapped__ = compile_as_asked
    torch.compile = compile_to_layer


def graphs():
    """The number of graphs that were compiled in this process; None if torch does not tell."""
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return 0
    try:
        return int(utils.counters["stats"]["unique_graphs"])
    except Exception:
        return None
