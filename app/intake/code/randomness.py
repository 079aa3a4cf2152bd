"""Detects scripts that draw random numbers without a seed, by static reading."""

from __future__ import annotations

import ast
import re

from app.intake.code.syntax import nodes_of

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
    ("uuid", "uuid4"),
    ("secrets", "token_bytes"),
    ("secrets", "token_hex"),
    ("secrets", "randbelow"),
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
}
# Estimators and functions of scikit-learn that draw unless they have a `random_state`.
_SKLEARN_DRAWS = re.compile(
    r"(?:DecisionTree|ExtraTrees?|RandomForest|Bagging|AdaBoost|GradientBoosting|HistGradientBoosting|MLP|SGD)"
    r"(?:Classifier|Regressor)|(?:MiniBatch)?KMeans|GaussianMixture|IsolationForest|TSNE|RandomTreesEmbedding"
    r"|make_(?:classification|regression|blobs|moons|circles|low_rank_matrix)|train_test_split|resample"
    r"|(?:Stratified)?ShuffleSplit|RandomizedSearchCV|FastICA|NMF|BernoulliRBM|SpectralClustering"
)


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
    """The generator that a call draws from: torch, random, numpy or system; None if it draws nothing."""
    root = imports.get(path[0], path[0])
    last = path[-1]
    if (root, last) in _ALWAYS_FRESH:
        return "system"
    if last in _IN_PLACE_DRAWS or (root.startswith("torch") and last in _TORCH_DRAWS | _LAYERS):
        return "torch"
    if last in _LAYERS and ("nn" in path or root == "torch"):
        return "torch"
    if (root == "random" and last in _RANDOM_DRAWS and len(path) == 2) or root == f"random.{last}":
        return "random"
    return "numpy" if root.startswith("numpy") and "random" in path and last not in _SEEDS else None


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
    imports = _imports(tree)
    draw_families: set[str] = set()
    seed_families: set[str] = set()
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call):
            continue
        path = _path(node.func)
        root = imports.get(path[0], path[0])
        if path[-1] in _SEEDS and (node.args or node.keywords):
            seed_families.add(
                "numpy" if root.startswith("numpy") else "random" if root.startswith("random") else "torch"
            )
            if path[-1] in {"set_seed", "seed_everything"}:
                seed_families |= {"numpy", "random", "torch"}
        family = _family(path, imports)
        if family is None and _draws_in_sklearn(node, path, imports):
            # It draws from the global generator of numpy.
            family = "numpy"
        if family is not None and not any(keyword.arg == "generator" for keyword in node.keywords):
            draw_families.add(family)
    return bool(draw_families - seed_families)
