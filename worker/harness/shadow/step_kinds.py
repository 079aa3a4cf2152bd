"""Knows torch's operations by their names and schemas.

`trace.py` loads it, with `shadow` and `stand_ins`.
"""

import torch

shadow = globals()["shadow"]
stand_ins = globals()["stand_ins"]
tensors_of = shadow.tensors_of

# These give one of their inputs' numbers, or a sign of it: nothing is rounded.
EXACT = {
    "clone", "copy_", "cat", "stack", "index", "index_select", "gather", "where", "neg", "abs", "relu", "max",
    "min", "amax", "amin", "maximum", "minimum", "sort", "topk", "flip", "roll", "constant_pad_nd",
    "slice_scatter", "select_backward", "slice_backward", "repeat", "tril", "triu", "masked_fill",
    "embedding",
    "fill", "zero", "sign", "sgn", "clamp", "clamp_min", "clamp_max", "threshold_backward", "alias", "detach",
    "_unsafe_view", "lift_fresh", "masked_select", "scatter", "index_fill", "max_pool2d_with_indices",
    "native_dropout", "expand", "ones_like", "zeros_like", "full_like", "new_zeros", "new_ones", "new_full",
}  # fmt: skip
# These say how large a difference is.
LARGEST, SIZES, SIGNED = {"max", "amax"}, {"linalg_vector_norm", "norm", "sum", "mean"}, {"sum", "mean"}
# Equality of rounded numbers says nothing about a decision.
EQUALITIES = {"eq", "ne", "equal", "allclose"}
# Their outputs hold no numbers yet, or numbers that nobody computed: their shadows begin at the first use.
EMPTY = {"empty_like", "new_empty", "new_empty_strided", "set_", "resize_", "_resize_output_"}
# The outputs that have one right answer each: signs and orders are free in the others, or they go with the
# script's pivots.
UNIQUE = {
    "_linalg_eigh": (0,), "_linalg_svd": (1,), "svd": (1,), "linalg_qr": (), "linalg_eig": (), "geqrf": (),
    "linalg_lu": (), "linalg_lu_factor_ex": (), "linalg_householder_product": (), "ormqr": (),
    "_linalg_solve_ex": (0,), "_linalg_slogdet": (0, 1), "_linalg_det": (0,), "linalg_lstsq": (0,),
}  # fmt: skip
# Fused optimizers read these as float32, whatever they are.
SINGLE_PRECISION = {"state_steps", "grad_scale", "found_inf", "lr"}
# Only their backward operations take the other outputs.
FOR_BACKWARD = {"_linalg_solve_ex", "_linalg_slogdet", "_linalg_det"}
# A small change of the input may change the result by a step of this size; None: of the divisor's size.
JUMPS = {
    **dict.fromkeys(("floor", "ceil", "round", "trunc", "sign", "sgn", "heaviside", "floor_divide"), 0.5),
    **dict.fromkeys(("remainder", "fmod"), None),
}
# A number at the edge of a bin is counted in one of two.
STEPS = {**JUMPS, "histc": 0.5}
# These round by the largest element of the result, and running sums by many roundings.
BY_THE_LARGEST = ("linalg_", "fft_", "cholesky", "triangular_solve", "lu_", "svd", "inverse")
# If rounding moves their result by its own size, their matrix is singular as far as rounding goes.
SOLVES = (
    "linalg_solve", "linalg_inv", "inverse", "cholesky_solve", "cholesky_inverse", "triangular_solve",
    "linalg_lstsq", "linalg_lu_solve", "lu_solve",
)  # fmt: skip
# Sums whose terms may cancel: they round by the sum of the absolute terms.
SUMS = {
    "sum", "mean", "mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "vdot", "convolution", "cumsum",
    "convolution_backward", "index_add", "scatter_add", "logcumsumexp", "embedding_dense_backward",
    "_embedding_bag", "addbmm", "addr", "linear", "trace", "avg_pool2d", "_adaptive_avg_pool2d",
}  # fmt: skip
# Their factors may have the 10 bits of TF32, as float16 has.
SHORTENED = {
    "mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "convolution", "convolution_backward", "linear",
    "_cudnn_rnn",
}  # fmt: skip
# Not proved in the script's process: they have several answers, or step.
UNPROVED = {*UNIQUE, *JUMPS, "nextafter", "nan_to_num"}
# Torch registers them itself: what `torch.func`, its compiler and its quantisation call.
OF_TORCH = {
    "aten", "prims", "prim", "rngprims", "inductor", "inductor_prims", "profiler", "quantized",
    "quantized_decomposed", "mkldnn", "mkldnn_prepacked", "onednn", "sparse", "c10d", "_c10d_functional",
}  # fmt: skip
# Evaluated by the kernel itself, which has float64 on a card, and which writes to its arguments.
BY_KERNEL = {"cudnn_batch_norm", "cudnn_batch_norm_backward"}
RUNNING = ("cumsum", "cumprod", "logcumsumexp")


class Kind:
    """The kind of an operation: `name` is its base name, `written` lists the arguments that it writes to."""

    def __init__(self, func):
        schema = func._schema
        space, _, name = schema.name.partition("::")
        self.name, self.full_name = name, schema.name
        self.types = [str(argument.type) for argument in schema.arguments]
        self.base = name.rstrip("_")
        self.foreign = space not in OF_TORCH
        # Torch's own, but nothing here knows what they do.
        self.unknown = space != "aten" and not self.foreign
        self.rounds_together = name.lstrip("_").startswith((*BY_THE_LARGEST, *RUNNING))
        self.is_exact = name == "copy_" or self.base in EXACT
        self.stand_in = None if name in BY_KERNEL else stand_ins.stand_in_of(func)
        self.is_proved = space == "aten" and self.base not in UNPROVED and self.stand_in is None
        self.may_draw = torch.Tag.nondeterministic_seeded in func.tags
        self.may_alias = any(
            out.alias_info is not None and not out.alias_info.is_write for out in schema.returns
        )
        # In inference mode, operations that are made of others arrive whole: `to` may give new numbers.
        self.is_view = self.may_alias and not is_composite(schema)
        self.written = [
            (at, argument.name)
            for at, argument in enumerate(schema.arguments)
            if (argument.alias_info is not None and argument.alias_info.is_write)
            or ("batch_norm" in name and argument.name in shadow.WRITTEN)
        ]

        self.reads_bits = schema.name == "aten::view" and schema.overload_name == "dtype"
        self.only_writes = any(getattr(argument, "is_out", False) for argument in schema.arguments)
        self.plain = [
            (at, argument.name)
            for at, argument in enumerate(schema.arguments)
            if name.startswith("_fused_") and argument.name in SINGLE_PRECISION
        ]

    def written_tensors(self, args, kwargs):
        """The tensors that the operation writes to."""
        if not self.written:
            return []
        values = [args[at] if at < len(args) else kwargs.get(name) for at, name in self.written]
        return list(tensors_of(values))

    def plain_tensors(self, args, kwargs):
        """The tensors that go into each evaluation as they are."""
        if not self.plain:
            return []
        values = [args[at] if at < len(args) else kwargs.get(name) for at, name in self.plain]
        return list(tensors_of(values))


def cancels(difference, gaps):
    """Whether a sum with signs is far less than random signs would make it: then it is no distance.

    `gaps`: the sum of the absolute terms. A divergence is such a sum.
    """
    return abs(float(difference.sum())) * 10 * difference.numel() ** 0.5 < gaps


def is_composite(schema):
    """Whether an operation is made of other operations of torch."""
    name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")
