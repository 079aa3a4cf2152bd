"""Detects sources of variation in a script, such as draws without a seed, by static reading."""

from __future__ import annotations

import ast
import re

from app.intake.code.syntax import nodes_of, tree_of

_SEEDS = {
    "seed",
    "manual_seed",
    "manual_seed_all",
    "set_seed",
    "seed_everything",
    "default_rng",
    "RandomState",
    "Generator",
    "set_rng_state",
}
_TORCH_DRAWS = {
    "rand",
    "randn",
    "randint",
    "randperm",
    "bernoulli",
    "multinomial",
    "normal",
    "rand_like",
    "randn_like",
    "randint_like",
    "poisson",
}
_IN_PLACE_DRAWS = {
    "normal_",
    "uniform_",
    "bernoulli_",
    "random_",
    "exponential_",
    "cauchy_",
    "geometric_",
    "log_normal_",
}
_RANDOM_DRAWS = {
    "random",
    "randint",
    "choice",
    "choices",
    "shuffle",
    "sample",
    "uniform",
    "gauss",
    "randrange",
    "getrandbits",
    "betavariate",
}
_ALWAYS_FRESH = {
    ("os", "urandom"),
    ("os", "getrandom"),
    ("uuid", "uuid1"),
    ("uuid", "uuid4"),
    ("random", "SystemRandom"),
    ("secrets", "SystemRandom"),
    ("secrets", "choice"),
    ("secrets", "randbits"),
    ("secrets", "token_urlsafe"),
    ("secrets", "token_bytes"),
    ("secrets", "token_hex"),
    ("secrets", "randbelow"),
}
_ALWAYS_FRESH_NAMES = {".".join(path) for path in _ALWAYS_FRESH}
# The entropy of the system. No setting fixes it.
ENTROPY = "entropy"
THREADS = "threads"
_CLOCKS = {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time"}
_DATES = {"now", "utcnow", "today"}
_FOLDERS = {"listdir", "scandir", "walk", "glob", "iglob", "rglob", "iterdir"}
GENERATORS = frozenset({"numpy-generator", "numpy-legacy", "python", "torch"})
# The sources of variation, in the order in which they are tested.
SOURCES = (
    *("numpy-generator", "numpy-legacy", "python", "torch"),
    *("hash", "clock", "files", THREADS, ENTROPY),
)
# Without an argument, numpy's generators take their seed from the system.
_FRESH = {
    "default_rng",
    "RandomState",
    "SeedSequence",
    "PCG64",
    "PCG64DXSM",
    "MT19937",
    "Philox",
    "SFC64",
}
# Layers draw their first weights from torch's generator.
_LAYERS = {
    "Linear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "Embedding",
    "LSTM",
    "GRU",
    "RNN",
    "Transformer",
    "MultiheadAttention",
    "Bilinear",
    "EmbeddingBag",
    *("LSTMCell", "GRUCell", "RNNCell", "TransformerEncoderLayer", "TransformerDecoderLayer"),
    *(f"ConvTranspose{dimensions}d" for dimensions in (1, 2, 3)),
}
# These draw from torch's generator, unless the call says that nothing is trained.
_TRAINING_DRAWS = {
    *(f"{kind}ropout{suffix}" for kind in "dD" for suffix in ("", "1d", "2d", "3d")),
    *("alpha_dropout", "AlphaDropout", "feature_alpha_dropout", "FeatureAlphaDropout", "rrelu", "RReLU"),
    *("gumbel_softmax", "svd_lowrank", "pca_lowrank", "fractional_max_pool2d", "FractionalMaxPool2d"),
}
# Estimators and functions of scikit-learn that draw unless they have a `random_state`.
_SKLEARN_DRAWS = re.compile(
    r"(?:DecisionTree|ExtraTrees?|RandomForest|Bagging|AdaBoost|GradientBoosting|HistGradientBoosting|MLP|SGD)"
    r"(?:Classifier|Regressor)|(?:MiniBatch)?KMeans|GaussianMixture|IsolationForest|TSNE|RandomTreesEmbedding"
    r"|make_(?:classification|regression|blobs|moons|circles|low_rank_matrix)|train_test_split|resample"
    r"|(?:Stratified)?ShuffleSplit|RandomizedSearchCV|FastICA|NMF|BernoulliRBM|SpectralClustering"
)
# Operations that torch documents as nondeterministic (`torch.use_deterministic_algorithms`).
_NONDETERMINISTIC = re.compile(
    r"\b(?:index_(?:add|put|copy|select)_?|put_|scatter_(?:add|reduce)?_?|gather|repeat_interleave|bincount|histc"
    r"|kthvalue|median|cumsum|grid_sample|interpolate|[Cc]onv(?:_transpose|Transpose)?[123]d|EmbeddingBag"
    r"|embedding_bag|(?:ctc|nll)_loss|(?:CTC|NLL)Loss|(?:Adaptive)?(?:Avg|Max)Pool[123]d|FractionalMaxPool[23]d"
    r"|MaxUnpool[123]d|Re(?:flection|plication)Pad[123]d|Upsample|bmm)\b"
)


def is_documented_as_nondeterministic(source: str) -> bool:
    """Whether a script names an operation that torch documents as nondeterministic."""
    return _NONDETERMINISTIC.search(source) is not None


def _path(node: ast.expr) -> tuple[str, ...]:
    """The dotted name of an expression, such as ("torch", "nn", "Linear").

    The first word is "?" if the expression does not start with a name.
    """
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (*([node.id] if isinstance(node, ast.Name) else ["?"]), *reversed(names))


def _family(path: tuple[str, ...], imports: dict[str, str]) -> str | None:
    """The source that a call draws from: a value of `fix`, or ENTROPY; None if it draws nothing."""
    root = imports.get(path[0], path[0])
    last = path[-1]
    if (root, last) in _ALWAYS_FRESH or root in _ALWAYS_FRESH_NAMES:
        return ENTROPY
    if last in _IN_PLACE_DRAWS or (root.startswith("torch") and last in _TORCH_DRAWS | _LAYERS):
        return "torch"
    if last in _LAYERS and ("nn" in path or root == "torch"):
        return "torch"
    if last in _TRAINING_DRAWS and root.startswith("torch"):
        return "torch"
    if (root == "random" and last in _RANDOM_DRAWS and len(path) == 2) or root == f"random.{last}":
        return "python"
    is_numpy = root.startswith("numpy") and ("random" in path or root.startswith("numpy.random"))
    return "numpy-legacy" if is_numpy and last not in _SEEDS | _FRESH else None


def _imports(tree: ast.Module) -> dict[str, str]:
    """Local names, and the full names that they stand for."""
    names: dict[str, str] = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name.partition(".")[0]: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def _draws_in_sklearn(node: ast.Call, path: tuple[str, ...], imports: dict[str, str]) -> bool:
    is_sklearn = imports.get(path[0], path[0]).startswith("sklearn")
    has_state = any(
        keyword.arg == "random_state"
        and not (isinstance(keyword.value, ast.Constant) and keyword.value.value is None)
        for keyword in node.keywords
    )
    return is_sklearn and not has_state and _SKLEARN_DRAWS.fullmatch(path[-1]) is not None


def is_unseeded(tree: ast.Module) -> bool:
    """True if the script draws from a random number generator and does not seed it."""
    return bool(unseeded_sources(tree))


def unseeded_sources(tree: ast.Module) -> set[str]:
    """The generators that the script draws from without a seed: values of the setting `fix`, and ENTROPY."""
    imports = _imports(tree)
    drawn: set[str] = set()
    seeded: set[str] = set()
    fresh: set[str] = set()
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call):
            continue
        path = _path(node.func)
        root = imports.get(path[0], path[0])
        if path[-1] in _SEEDS and (node.args or node.keywords):
            seeded |= _seeded_by(path[-1], root)
        if path[-1] in _FRESH and root.startswith("numpy") and _is_without_seed(node):
            fresh.add("numpy-generator")
        if path[-1] == "Random" and root.startswith("random") and _is_without_seed(node):
            fresh.add("python")
        family = _family(path, imports)
        if family is None and _draws_in_sklearn(node, path, imports):
            # It draws from the global generator of numpy.
            family = "numpy-legacy"
        if family is not None and not _draws_nothing(node):
            drawn.add(family)
    return (drawn - seeded) | fresh


def _draws_nothing(call: ast.Call) -> bool:
    """Whether a call has a generator of its own, or says that nothing is trained."""
    return any(
        keyword.arg == "generator"
        or (
            keyword.arg in {"training", "train"}
            and isinstance(keyword.value, ast.Constant)
            and keyword.value.value is False
        )
        for keyword in call.keywords
    )


def _seeded_by(function: str, root: str) -> set[str]:
    """The generators that a call of a seeding function seeds."""
    if function in {"set_seed", "seed_everything"}:
        return {"numpy-legacy", "python", "torch"}
    if root.startswith("numpy"):
        # A generator of its own leaves the global one as it is.
        return {"numpy-legacy"} if function == "seed" else set()
    return {"python"} if root.startswith("random") else {"torch"}


def _is_without_seed(call: ast.Call) -> bool:
    """Whether a generator is made without a seed."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    return all(isinstance(each, ast.Constant) and each.value is None for each in arguments)


def sources_of(text: str) -> tuple[str, ...]:
    """The sources that may make repeats of the script differ. Empty if it can't be parsed."""
    tree = tree_of(text)
    if tree is None:
        return ()
    imports = _imports(tree)
    sources = unseeded_sources(tree)
    if any(name.partition(".")[0] in {"torch", "numpy"} for name in imports.values()):
        sources.add(THREADS)
    for node in nodes_of(tree):
        if isinstance(node, ast.Set | ast.SetComp):
            sources.add("hash")
        elif isinstance(node, ast.Call):
            sources |= _sources_of_call(_path(node.func), imports)
    return tuple(name for name in SOURCES if name in sources)


def _sources_of_call(path: tuple[str, ...], imports: dict[str, str]) -> set[str]:
    root, last = imports.get(path[0], path[0]), path[-1]
    sources = set()
    if len(path) == 1 and last in {"set", "frozenset", "hash"}:
        sources.add("hash")
    if (root.startswith("time") and last in _CLOCKS) or (root.startswith("datetime") and last in _DATES):
        sources.add("clock")
    if last in _FOLDERS:
        sources.add("files")
    return sources
