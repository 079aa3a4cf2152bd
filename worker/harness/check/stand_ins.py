"""Formulas for kernels that have no float64, or none on the CPU. They take the kernel's arguments by name.

`rounding_check.py` loads it, and `trace.py` for the shadow. A formula raises ValueError where the kernel does
more, such as dropout.
"""

import contextlib
import math

import torch

aten = torch.ops.aten


def attention(named):
    """The output of scaled dot-product attention."""
    if named.get("dropout_p"):
        raise ValueError("the draw is unknown")
    query, key, value, scale = (named.get(name) for name in ("query", "key", "value", "scale"))
    weights = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if named.get("is_causal"):
        allowed = torch.ones(weights.shape[-2:], dtype=torch.bool, device=weights.device).tril()
        weights = weights.masked_fill(~allowed, -math.inf)
    for name in ("attn_bias", "attn_mask"):
        if named.get(name) is not None:
            weights = weights + named[name]
    return weights.softmax(-1) @ value


def attention_backward(named):
    """The derivatives by query, key and value."""
    grad = named["grad_out_"] if "grad_out_" in named else named["grad_out"]
    with torch.inference_mode(False), torch.enable_grad():
        inputs = {name: named[name].detach().clone().requires_grad_() for name in ("query", "key", "value")}
        out = attention({**named, **inputs})
        return torch.autograd.grad(out, list(inputs.values()), grad.detach().clone())


def batch_norm(named):
    """The output of batch normalisation by cuDNN."""
    statistics = [named[name] for name in ("running_mean", "running_var")]
    return aten.native_batch_norm(
        named["input"], named["weight"], named.get("bias"), *statistics,
        named["training"], named["exponential_average_factor"], named["epsilon"],
    )[0]  # fmt: skip


def batch_norm_backward(named):
    """The derivatives of batch normalisation by cuDNN, which holds the reciprocal of the deviation."""
    names = ("grad_output", "input", "weight", "running_mean", "running_var", "save_mean", "save_var")
    return aten.native_batch_norm_backward(
        *[named.get(name) for name in names], True, named["epsilon"], [True] * 3
    )


LSTM, GRU = 2, 3


@contextlib.contextmanager
def plain_kernels():
    """Have recurrent layers be evaluated step by step, not by a library's kernel."""
    native = torch._C
    before = native._get_cudnn_enabled(), native._get_mkldnn_enabled()
    native._set_cudnn_enabled(False)
    native._set_mkldnn_enabled(False)
    try:
        yield
    finally:
        native._set_cudnn_enabled(before[0])
        native._set_mkldnn_enabled(before[1])


def recurrent(named):
    """The outputs of recurrent layers by cuDNN."""
    if named.get("dropout") or named.get("batch_sizes") or named.get("proj_size"):
        raise ValueError("more than the formula")
    has_bias = named["weight_stride0"] == 4
    action = {0: torch.rnn_relu, 1: torch.rnn_tanh, LSTM: torch.lstm, GRU: torch.gru}[named["mode"]]
    state = [named["hx"], named["cx"]] if named["mode"] == LSTM else named["hx"]
    options = (named["num_layers"], 0.0, False, named["bidirectional"], named["batch_first"])
    with plain_kernels():
        return action(named["input"], state, list(named["weight"]), has_bias, *options)


def recurrent_layer(named):
    """The outputs of one layer by oneDNN, in one direction."""
    if named.get("batch_sizes") or named["mode"] != LSTM or named["bidirectional"]:
        raise ValueError("more than the formula")
    weights = [named["weight%d" % at] for at in range(4 if named["has_biases"] else 2)]
    rows = named["input"].flip(0) if named["reverse"] else named["input"]
    shape = (1, rows.shape[1], named["hidden_size"])
    state = [named[name].reshape(shape) for name in ("hx_", "cx_")]
    with plain_kernels():
        out, hidden, cell = torch.lstm(rows, state, weights, named["has_biases"], 1, 0.0, False, False, False)
    out = out.flip(0) if named["reverse"] else out
    return out, hidden.reshape(named["hx_"].shape), cell.reshape(named["cx_"].shape)


def fused_adam(named):
    """The parameters after a step of Adam, from single steps. Powers near one cancel in its corrections."""
    if named.get("grad_scale") is not None or named.get("found_inf") is not None or named["amsgrad"]:
        raise ValueError("more than the formula")
    names = ("self", "grads", "exp_avgs", "exp_avg_sqs", "state_steps")
    results = []
    for weight, grad, mean, square, count in zip(*(named[name] for name in names)):
        first, second, rate = (
            torch.as_tensor(named[name], dtype=weight.dtype) for name in ("beta1", "beta2", "lr")
        )
        grad = -grad if named["maximize"] else grad
        if named["decoupled"]:
            weight = weight * (1 - rate * named["weight_decay"])
        else:
            grad = grad + weight * named["weight_decay"]
        mean = first * mean + (1 - first) * grad
        square = second * square + (1 - second) * grad * grad
        root = square.sqrt() / (1 - second**count).sqrt()
        results.append(weight - rate / (1 - first**count) * mean / (root + named["eps"]))
    return results


STAND_INS = {
    **dict.fromkeys(
        (
            "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_cudnn_attention", "_scaled_dot_product_flash_attention_for_cpu",
        ),
        attention,
    ),
    **dict.fromkeys(
        (
            "_scaled_dot_product_flash_attention_backward",
            "_scaled_dot_product_efficient_attention_backward",
            "_scaled_dot_product_cudnn_attention_backward",
            "_scaled_dot_product_flash_attention_for_cpu_backward",
        ),
        attention_backward,
    ),
    "cudnn_batch_norm": batch_norm,
    "cudnn_batch_norm_backward": batch_norm_backward,
    "_cudnn_rnn": recurrent,
    "mkldnn_rnn_layer": recurrent_layer,
}  # fmt: skip
# Their steps round as those within a kernel. The kernel itself has float64.
BY_STEPS = {
    "_fused_adam_": lambda named: fused_adam({**named, "decoupled": False}),
    "_fused_adamw_": lambda named: fused_adam({**named, "decoupled": True}),
}
# How many of their outputs are results.
RESULTS = {"_cudnn_rnn": 3, "mkldnn_rnn_layer": 3} | {
    name: 3 for name in STAND_INS if name.endswith("_backward")
}
# Random numbers that a script draws are taken as they are.
DRAWS = {
    "bernoulli", "binomial", "cauchy", "exponential", "geometric", "log_normal", "multinomial",
    "native_dropout", "normal", "normal_functional", "poisson", "rand", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "random", "randperm", "uniform",
}  # fmt: skip
# These draw numbers only for dropout.
DROPOUT = {"dropout_p", "dropout"}


def stand_in_of(func, formulas=STAND_INS):
    """A function with the arguments of an operation that evaluates its formula; None if it has none."""
    schema = getattr(func, "_schema", None)
    formula = None if schema is None else formulas.get(schema.name.partition("::")[2])
    if formula is None:
        return None
    names = [argument.name for argument in schema.arguments]

    def evaluate(*args, **kwargs):
        return formula({**dict(zip(names, args)), **kwargs})

    return evaluate


def draws(func, args, kwargs):
    """The kind of draw that an operation with a generator makes in this call.

    "plain": random numbers alone; "more": others depend on them; an empty text: nothing.
    """
    name = func._schema.name.partition("::")[2]
    if name.rstrip("_") in DRAWS:
        return "plain"
    if name not in STAND_INS:
        return "more"
    for at, argument in enumerate(func._schema.arguments):
        if argument.name in DROPOUT and (args[at] if at < len(args) else kwargs.get(argument.name)):
            return "more"
    return ""


def with_limits(args, kwargs, dtype):
    """The arguments of `nan_to_num`; for infinities with the dtype's numbers where the script names none."""
    limits = torch.finfo(dtype)
    values = [*args[1:], *[None] * (4 - len(args))]
    named = dict(zip(("nan", "posinf", "neginf"), values))
    named.update(kwargs)
    for name, limit in (("posinf", limits.max), ("neginf", limits.min)):
        named[name] = limit if named[name] is None else named[name]
    return args[:1], named
