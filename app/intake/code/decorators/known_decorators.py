"""Decorators of libraries: those that only wrap a function, and what makes them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from app.intake.code.syntax import dotted_name

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Decorators that run nothing of a function where it is defined, by their last name, or by the last two.
_WRAPS_TEXT = """
staticmethod classmethod property cached_property abstractmethod override final overload dataclass
cache lru_cache wraps contextmanager asynccontextmanager total_ordering singledispatch deprecated
no_grad enable_grad inference_mode autocast errstate compile compiler.disable dynamo.disable
dynamo.optimize allow_in_graph custom_fwd custom_bwd jit.ignore jit.unused jit.export
vmap pmap grad value_and_grad jacfwd jacrev hessian checkpoint remat custom_jvp custom_vjp named_call
tf.function tensorflow.function
autotune heuristics parametrize fixture skipif skip xfail skipIf skipUnless
app.route bp.route blueprint.route errorhandler before_request after_request shared_task app.task celery.task
ray.remote retry given profile sync_to_async async_to_sync login_required
"""
_WRAPS = frozenset(_WRAPS_TEXT.split())
# So do calls of these with a function.
_WRAPS_BY_CALL_TEXT = """
jit njit pjit filter_jit compile vmap pmap grad value_and_grad jacfwd jacrev hessian vectorize partial
cache lru_cache
"""
_WRAPS_BY_CALL = frozenset(_WRAPS_BY_CALL_TEXT.split())
# Decorators that read or compile a function where it is defined: what they do may be what fails.
_RUNS_TEXT = """
script script_method custom_op cfunc jit njit vectorize guvectorize register impl
get post put delete patch websocket validator field_validator model_validator option argument command group
"""
_RUNS = frozenset(_RUNS_TEXT.split())
_COMPILES_LATER = frozenset({"jit", "njit", "pjit", "filter_jit", "vectorize", "guvectorize", "stencil"})


def only_wraps(decorator: ast.expr) -> bool:
    """True for a decorator that is known to run nothing of the function where it is defined."""
    call = decorator if isinstance(decorator, ast.Call) else None
    name = dotted_name(call.func if call else decorator)
    if name[-1:] == ("partial",) and call and call.args:
        # `@partial(jax.jit, static_argnums=0)`
        return only_wraps(call.args[0])
    if name[-1:] and name[-1] in _COMPILES_LATER:
        # With a signature, such as `@njit("f8(f8)")`, numba compiles at once.
        return call is None or not call.args
    return name[-1:] != () and (name[-1] in _WRAPS or ".".join(name[-2:]) in _WRAPS)


def names_of_wrapped(statement: ast.stmt, names: set[str]) -> list[str]:
    """The names in `name = jax.jit(function)`, which runs nothing of the function yet."""
    match statement:
        case ast.Assign(value=ast.Call(func=function, args=[ast.Name(id=wrapped)], keywords=keywords)):
            is_plain = all(isinstance(each.value, ast.Constant | ast.Name | ast.Tuple) for each in keywords)
            wraps = dotted_name(function)[-1:] != () and dotted_name(function)[-1] in _WRAPS_BY_CALL
            return names_assigned(statement) if wraps and is_plain and wrapped in names else []
        case _:
            return []


def makes_decorators(statement: ast.stmt, body: Sequence[ast.stmt], names: set[str]) -> bool:
    """True for `app = Flask(__name__)` where `@app.route("/")` follows, and a library's code makes it."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return False
    parts = [*statement.value.args, *(keyword.value for keyword in statement.value.keywords)]
    targets = names_assigned(statement)
    return (
        all(isinstance(part, ast.Constant | ast.Name | ast.Attribute) for part in parts)
        and not any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(statement.value))
        and any(decorator[:1] == (name,) for name in targets for decorator in decorators_in(body))
    )


def decorators_in(body: Sequence[ast.stmt]) -> list[tuple[str, ...]]:
    """The dotted names of the decorators of functions."""
    return [
        dotted_name(part.func if isinstance(part, ast.Call) else part)
        for statement in body
        if isinstance(statement, FUNCTIONS)
        for part in statement.decorator_list
    ]


def may_run_functions(body: Sequence[ast.stmt], own: set[str]) -> bool:
    """Whether functions have decorators of which nobody knows what they do. `own` names are the script's."""
    names = decorators_in(body)
    return bool(names) and not any(name[:1] == () or name[-1] in _RUNS or name[0] in own for name in names)


def names_assigned(statement: ast.Assign) -> list[str]:
    """The names that an assignment gives values, if it does nothing else."""
    names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return names if len(names) == len(statement.targets) else []
