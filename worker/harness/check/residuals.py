"""Judges a factorisation by what it has to be: its factors give the matrix back, and are orthogonal.

Likewise the index of the largest or least element: the element is as large as any.

`rounding_check.py` loads it. Singular vectors, signs and pivots are free, so no reference has the same ones.
"""

import math

import torch

# A stable factorisation is the exact one of a matrix so many roundings away, for each row or column.
ROUNDINGS = 32
CHOICES = {"argmax", "argmin"}
WIDE = {torch.complex64: torch.complex128, torch.complex128: torch.complex128}
REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def wide(tensor):
    """The tensor in float64 or complex128."""
    return tensor.to(WIDE.get(tensor.dtype, torch.float64))


def identity_error(factor):
    """How far the columns of a factor are from being orthonormal."""
    product = factor.mH @ factor
    return (product - torch.eye(product.shape[-1], dtype=product.dtype)).abs()


def is_descending(values):
    """0 where values are in descending order, else infinity."""
    ordered = bool((values[..., 1:] <= values[..., :-1]).all())
    return torch.zeros(1) if ordered else torch.full((1,), math.inf)


def svd_errors(matrix, _args, out):
    """The errors of singular values and vectors."""
    left, values, right = (wide(each) for each in out)
    exact = torch.linalg.svdvals(matrix)
    yield (values - exact).abs(), True
    yield is_descending(values), False
    if left.numel() and right.numel():
        size = values.shape[-1]
        left, right = left[..., :size], right[..., :size, :]
        yield (left * values.unsqueeze(-2) @ right - matrix).abs(), True
        yield identity_error(left), False
        yield identity_error(right.mH), False


def eigh_errors(matrix, args, out):
    """The errors of the eigenvalues and eigenvectors of a symmetric matrix, given by one of its triangles."""
    lower = len(args) < 2 or str(args[1]).upper() == "L"
    part = matrix.tril(-1) if lower else matrix.triu(1)
    diagonal = torch.diag_embed(matrix.diagonal(dim1=-2, dim2=-1).real.to(matrix.dtype))
    whole = part + part.mH + diagonal
    values, vectors = wide(out[0]), wide(out[1])
    yield (values - torch.linalg.eigvalsh(whole)).abs(), True
    if vectors.numel():
        yield (whole @ vectors - vectors * values.unsqueeze(-2)).abs(), True
        yield identity_error(vectors), False


def eig_errors(matrix, _args, out):
    """The errors of eigenvalues and eigenvectors: each pair has to fit the matrix."""
    values, vectors = (each.to(torch.complex128) for each in out)
    yield (matrix.to(torch.complex128) @ vectors - vectors * values.unsqueeze(-2)).abs(), True


def qr_errors(matrix, args, out):
    """The errors of an orthogonal and a triangular factor."""
    if len(args) > 1 and args[1] == "r":
        raise ValueError("no orthogonal factor")
    factor, triangle = wide(out[0]), wide(out[1])
    yield (factor @ triangle - matrix).abs(), True
    yield triangle.tril(-1).abs(), True
    yield identity_error(factor), False


def lu_errors(matrix, _args, out):
    """The error of triangular factors with their pivots."""
    permutation, lower, upper = torch.lu_unpack(wide(out[0]), out[1])
    yield (permutation @ lower @ upper - matrix).abs(), True


def check_choice(name, side):
    """The facts of indices: torch's own kernel chooses equal elements in the clean process."""
    values, indices = side["args"][0], side["out"][0]
    arguments = [*side["args"][1:], *([None] if len(side["args"]) < 2 else [])]
    dim = side["kwargs"].get("dim", arguments[0])
    if dim is None:
        values, dim = values.reshape(-1), 0
    values = values.movedim(dim, 0).reshape(values.shape[dim], -1)
    right = getattr(torch, name)(values, dim=0)
    places = indices.reshape(-1)
    facts = {"explained": False, "reduced": False, "error": 0.0, "ulps": 0.0, "span": 0.0, "worst": None}
    if places.shape == right.shape and bool(((places >= 0) & (places < len(values))).all()):
        mine, theirs = values.gather(0, places[None]), values.gather(0, right[None])
        facts["explained"] = torch.equal(mine.nan_to_num(0.0), theirs.nan_to_num(0.0)) and torch.equal(
            torch.isnan(mine), torch.isnan(theirs)
        )
    return facts


ERRORS = {
    "_linalg_svd": svd_errors,
    "svd": svd_errors,
    "_linalg_eigh": eigh_errors,
    "linalg_eigh": eigh_errors,
    "linalg_eig": eig_errors,
    "linalg_qr": qr_errors,
    "linalg_lu_factor_ex": lu_errors,
}


def check(name, side):
    """The facts of a side by its residuals; None if the operation has none that is known here."""
    if name in CHOICES:
        return check_choice(name, side)
    errors_of = ERRORS.get(name)
    if errors_of is None:
        return None
    matrix = wide(side["args"][0])
    dtype = side["out"][0].dtype
    limits = torch.finfo(REAL.get(dtype, dtype))
    norm = float(torch.linalg.matrix_norm(matrix).max()) if matrix.numel() else 0.0
    allowed = ROUNDINGS * limits.eps * max(1, *matrix.shape[-2:])
    facts = {
        "explained": True,
        "reduced": False,
        "error": 0.0,
        "ulps": 0.0,
        "span": allowed * norm,
        "worst": None,
    }
    for errors, is_scaled in errors_of(matrix, side["args"], side["out"]):
        worst = float(errors.max()) if errors.numel() else 0.0
        scale = norm if is_scaled else 1.0
        facts["explained"] &= worst <= allowed * scale + limits.tiny
        if math.isfinite(worst):
            facts["error"] = max(facts["error"], worst)
            facts["ulps"] = max(facts["ulps"], worst / (limits.eps * scale) if scale else 0.0)
    return facts
