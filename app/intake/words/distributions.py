"""Names of distributions for names of imports."""

from __future__ import annotations

# Import names whose distribution has another name.
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "cv2": "opencv-python",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "bs4": "beautifulsoup4",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "attr": "attrs",
    "cattr": "cattrs",
    "jwt": "pyjwt",
    "ruamel": "ruamel-yaml",
    "pywt": "pywavelets",
    "Levenshtein": "levenshtein",
    "git": "gitpython",
    "mpl_toolkits": "matplotlib",
    "pkg_resources": "setuptools",
    "umap": "umap-learn",
    "faiss": "faiss-cpu",
    "functorch": "torch",
    "torchgen": "torch",
    "caffe2": "torch",
    "pytorch_lightning": "pytorch-lightning",
    "sentence_transformers": "sentence-transformers",
    "torch_geometric": "torch-geometric",
    "torch_scatter": "torch-scatter",
    "flash_attn": "flash-attn",
}
# An answer may repeat these names although they come from a script.
WELL_KNOWN = frozenset(
    """
    accelerate aiohttp attrs beautifulsoup4 bitsandbytes cupy dask datasets deepspeed diffusers einops
    fairscale faiss-cpu flash-attn flax gymnasium h5py huggingface-hub ignite jax jaxlib joblib kornia
    librosa lightning mamba-ssm matplotlib mlx monai nltk numba numpy onnx onnxruntime onnxscript openai
    opencv-python opt-einsum pandas peft pillow psutil pyarrow pynvml pytest python-dateutil python-dotenv
    pytorch-ignite pytorch-lightning pyyaml ray requests safetensors scikit-image scikit-learn scipy
    seaborn sentence-transformers sentencepiece setuptools spacy statsmodels sympy tensorboard tensordict
    tensorflow tiktoken timm tokenizers torch torch-geometric torch-scatter torchao torchaudio
    torchmetrics torchrl torchtext torchvision tqdm transformers triton trl umap-learn vllm wandb xarray
    xformers networkx packaging patsy pydantic pygments pyparsing pytz regex six tabulate typing-extensions
    altair arrow astropy babel bidict boltons bokeh bottleneck cattrs click cloudpickle colorama cvxpy
    dateparser deepdiff dill formulaic frozendict gensim geopandas gitpython gmpy2 httpx humanize hypothesis
    igraph imageio immutables jinja2 jsonschema lark levenshtein llvmlite lmfit lxml markdown marshmallow
    more-itertools mpmath msgpack narwhals numexpr orjson parso pendulum pint plotly polars prettytable pulp
    pyarrow pyerfa pyjwt pyrsistent pywavelets requests rich ruamel-yaml shapely simplejson sortedcontainers
    sparse sqlalchemy structlog textdistance tifffile tomlkit toolz tzlocal ujson uncertainties wcwidth wrapt
    zarr
    """.split()  # noqa: SIM905  # a list of so many lines says no more
)


# The names under which well-known packages are imported.
KNOWN_MODULES = frozenset(
    {
        *DISTRIBUTIONS,
        *(name.replace("-", "_") for name in WELL_KNOWN if name not in DISTRIBUTIONS.values()),
    }
)
