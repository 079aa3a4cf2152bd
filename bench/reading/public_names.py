"""Lists the public names of well-known modules, for the repair that adds missing imports.

    python bench/reading/public_names.py > app/intake/words/public_names.txt

Run it where the packages are installed. A package that is missing is left out, with a message. The modules
stand in the order in which a name is looked for.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types

MODULES = (
    *("torch.nn", "torch.distributions", "torch.utils.data", "torch.optim", "torch.autograd"),
    *("torch.testing", "torch.nn.utils", "torch.nn.utils.rnn", "torch.utils.checkpoint", "torch"),
    *("torch.nn.functional", "numpy.testing", "numpy", "numpy.linalg", "numpy.ma", "numpy.polynomial"),
    *("pandas", "pandas.testing", "pandas.tseries.offsets", "pandas.api.types"),
    *("scipy.stats", "scipy.optimize", "scipy.sparse", "scipy.linalg", "scipy.interpolate", "scipy.signal"),
    *("scipy.integrate", "scipy.spatial", "scipy.spatial.distance", "scipy.special", "scipy.ndimage"),
    *("scipy.cluster.hierarchy", "scipy.fft", "scipy.io", "sklearn.base", "sklearn.linear_model"),
    *("sklearn.ensemble", "sklearn.tree"),
    *("sklearn.svm", "sklearn.neighbors", "sklearn.cluster", "sklearn.preprocessing", "sklearn.pipeline"),
    *("sklearn.decomposition", "sklearn.compose", "sklearn.model_selection", "sklearn.metrics"),
    *("sklearn.metrics.pairwise", "sklearn.datasets", "sklearn.impute", "sklearn.feature_extraction"),
    *("sklearn.feature_extraction.text", "sklearn.feature_selection", "sklearn.naive_bayes"),
    *("sklearn.gaussian_process", "sklearn.gaussian_process.kernels", "sklearn.neural_network"),
    *("sklearn.manifold", "sklearn.mixture", "sklearn.calibration", "sklearn.inspection"),
    *("sklearn.multiclass", "sklearn.multioutput", "sklearn.dummy", "sklearn.covariance"),
    *("sklearn.cross_decomposition", "sklearn.discriminant_analysis", "sklearn.isotonic"),
    *("sklearn.random_projection", "sklearn.utils", "sklearn.utils.estimator_checks"),
    *("sympy", "sympy.abc", "sympy.stats", "sympy.physics.units", "networkx", "PIL", "jax", "jax.random"),
    *("einops", "einops.layers.torch", "pydantic", "attrs", "attr", "xarray", "matplotlib.pyplot", "numba"),
    *("mpmath", "polars", "pyarrow", "statsmodels.api", "statsmodels.formula.api"),
    *("statsmodels.tsa.api", "shapely", "shapely.geometry", "shapely.ops", "dateutil.parser"),
    *("dateutil.relativedelta", "dateutil.rrule", "dateutil.tz", "cattrs", "pendulum", "babel.dates"),
    *("babel.numbers", "bs4", "lxml", "more_itertools", "rich", "click"),
    *("pint", "uncertainties", "lmfit", "lark", "tomlkit", "croniter", "arrow", "marshmallow", "msgspec"),
    *("sqlalchemy", "sqlalchemy.orm", "jsonschema", "h5py", "zarr", "pywt", "skimage.filters"),
    *("skimage.measure", "skimage.transform", "skimage.morphology", "skimage.segmentation", "skimage.io"),
    *("cvxpy", "astropy.time", "astropy.table", "astropy.coordinates", "astropy.io.fits"),
    *("openpyxl", "jinja2", "fastapi", "fastapi.testclient", "starlette.testclient", "ruamel.yaml"),
    *("pyparsing", "hypothesis", "hypothesis.strategies", "tabulate", "prettytable", "tqdm", "typer"),
    *("dask.array", "dask.dataframe", "rapidfuzz", "sortedcontainers", "toolz", "pyrsistent", "bidict"),
    *("intervaltree", "bitarray", "bitstring", "cachetools", "pyproj", "geopandas", "cftime", "patsy"),
    *("gensim.models", "nltk.tokenize", "nltk.stem", "markdown", "pygments"),
    *("html5lib", "simpy", "pulp", "pypdf"),
    *("plotly.graph_objects", "plotly.express", "seaborn", "filterpy.kalman"),
    *("dateparser", "phonenumbers", "schema", "voluptuous", "cerberus", "traitlets", "param", "flask"),
    *("werkzeug.datastructures", "httpx", "anyio", "trio", "tenacity", "loguru", "structlog"),
    *("unidecode", "icalendar", "holidays", "xmltodict", "parsel", "pyquery", "mistune", "textdistance"),
    *("jellyfish", "igraph", "joblib", "cloudpickle", "dill", "awkward", "hist", "boost_histogram"),
    *("iminuit", "ase", "pydicom", "nibabel", "music21"),
    *("pretty_midi", "emoji", "inflect", "chardet", "charset_normalizer", "pytz", "tzlocal"),
    *("collections", "collections.abc", "functools", "itertools", "typing", "dataclasses", "decimal"),
    *("fractions", "pathlib", "datetime", "concurrent.futures", "contextlib", "enum", "abc", "io"),
    *("textwrap", "threading", "queue", "multiprocessing", "subprocess", "unittest", "unittest.mock"),
    *("types", "string", "statistics", "pprint", "operator", "copy", "math", "time", "timeit"),
)
# Modules that a report uses by their name in the package, and classes.
_SUBMODULES = {
    "PIL": ("Image", "ImageDraw", "ImageFont", "ImageOps", "ImageFilter", "ImageChops", "ImageSequence"),
    # Its other classes are those of its compiler.
    "torch": ("nn", "optim", "autograd", "Tensor", "Size", "Generator"),
    "scipy": ("stats", "optimize", "sparse", "linalg", "signal", "ndimage", "integrate", "special"),
    "sklearn": ("datasets", "metrics", "linear_model", "preprocessing", "svm", "tree", "cluster"),
}
_LEAST_LENGTH = 3


def names_of(module: str) -> list[str]:
    """The public names of a module that are its own: classes and functions, and the modules listed above."""
    imported = importlib.import_module(module)
    listed = getattr(imported, "__all__", None)
    names = listed if listed is not None else [name for name in dir(imported) if _is_own(imported, name)]
    found = {
        name
        for name in names
        if name.isidentifier() and len(name) >= _LEAST_LENGTH and _is_there(imported, name)
    }
    own = {
        name for name in found if not name.startswith("_") and not (module == "torch" and name[0].isupper())
    }
    return sorted(own | set(_SUBMODULES.get(module, ())))


def _is_own(module: types.ModuleType, name: str) -> bool:
    """Whether a module without `__all__` defines a callable itself, and does not only use it."""
    value = _value(module, name)
    root = str(getattr(value, "__module__", None) or "").partition(".")[0]
    return callable(value) and root in {module.__name__.partition(".")[0], "builtins"}


def _is_there(module: types.ModuleType, name: str) -> bool:
    value = _value(module, name)
    return value is not None and not inspect.ismodule(value)


def _value(module: types.ModuleType, name: str) -> object:
    try:
        return getattr(module, name, None)
    except ImportError:
        # Experimental names ask for an import of their own.
        return None


def main() -> None:
    """Print a line for each module: its name and its public names."""
    for module in (*MODULES, "scipy", "sklearn"):
        try:
            names = names_of(module) if module not in {"scipy", "sklearn"} else list(_SUBMODULES[module])
        except ImportError as error:
            sys.stderr.write(f"{module}: {error}\n")
            continue
        sys.stdout.write(f"{module}: {' '.join(names)}\n")


if __name__ == "__main__":
    main()
