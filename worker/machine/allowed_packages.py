"""Reads the operator's list of the packages that a report may add to a toolchain."""

from __future__ import annotations

import re
from pathlib import Path

# Packages that are widely used in numeric scripts and have wheels. Their code runs only inside the sandbox.
DEFAULT = (
    "annotated-types attrs contourpy cycler einops fonttools h5py iniconfig jax jaxlib joblib "
    "kiwisolver llvmlite matplotlib ml-dtypes mpmath networkx numba numpy opt-einsum packaging "
    "pandas patsy pillow pluggy pydantic pydantic-core pygments pyparsing pytest python-dateutil "
    "pytz pyyaml regex scikit-learn scipy six statsmodels sympy tabulate threadpoolctl tqdm "
    "typing-extensions typing-inspection tzdata xarray "
    "arrow asteval babel beautifulsoup4 bidict boltons bottleneck cattrs certifi click cloudpickle "
    "colorama crc32c dask dateparser deepdiff dill donfig flexcache flexparser formulaic frozendict "
    "fsspec geopandas gmpy2 humanize hypothesis igraph imageio immutables importlib-metadata "
    "interface-meta jinja2 jsonschema jsonschema-specifications lark lazy-loader levenshtein "
    "lightning-utilities lmfit locket lxml markdown markdown-it-py markupsafe marshmallow mdurl "
    "more-itertools msgpack narwhals numcodecs numexpr orderly-set orjson parso partd pendulum pint "
    "platformdirs plotly polars polars-runtime-32 prettytable pyarrow pyogrio pyproj pyrsistent "
    "pywavelets rapidfuzz referencing rich rpds-py ruamel-yaml safetensors scikit-image seaborn shapely "
    "simplejson sortedcontainers soupsieve sparse structlog texttable tifffile tomlkit toolz torchmetrics "
    "tzlocal ujson uncertainties wcwidth wrapt zarr zipp"
)
_PACKAGE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,60}[a-z0-9])?")
_MOST_FILE = 1024 * 1024


def read(text: str) -> frozenset[str]:
    """The normalized names from a text with spaces or commas, or from a file if `text` is an absolute path.

    In a file `#` starts a comment. Raises ValueError.
    """
    if text.startswith("/"):
        try:
            with Path(text).open(encoding="utf-8") as file:
                lines = file.read(_MOST_FILE).splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{text} can't be read") from error
        text = " ".join(line.partition("#")[0] for line in lines)
    names = [re.sub(r"[-_.]+", "-", name).lower() for name in re.split(r"[\s,]+", text) if name]
    wrong = next((name for name in names if not _PACKAGE.fullmatch(name)), None)
    if wrong is not None:
        raise ValueError(f"{wrong[:80]!r} is not the name of a package")
    return frozenset(names)
