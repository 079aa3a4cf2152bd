"""The programs that run inside the sandbox, in the toolchain's Python.

The node never imports them: it copies their text.

Three sides write and read messages: the *node* (this process), the *harness* (`watch.py` and the files that
it loads, in the script's own process) and the *rounding check* (another process of the toolchain's Python).
All that comes out of the sandbox is untrusted: `worker.observation` reads it with a schema and limits.

**Config** of the harness, JSON, `/run/samehere/harness.json`. `worker.attempt.execute` writes it, `watch.py`
reads it:

    report_fd     int     descriptor of the report channel; the node writes `REPORT_FD_PLACEHOLDER` here,
                          `worker.sandbox` replaces it
    report_bytes  int     bytes that the report may have; 0 or absent: capture no values
    settings      object  text by name, the target's settings that apply after `import torch`:
                          deterministic, fill, tf32 ("on" | "off"), seed (decimal digits), trace, fix,
                          compile
    passage       list    points to observe, as `worker.contract.passage.PassagePoint`; absent: none

**Config** of a paused interpreter, JSON, the same path. `worker.warm.zygote` writes it, `pause.py` reads it:

    control_fd     int          descriptor of the socket to the node
    forks          bool         whether each job gets a fork; else the interpreter takes one job and ends
    modules        list[str]    modules to import before the pause; the last one is torch
    read_at_start  list[str]    prefixes of environment variables that libraries read when they start
    argv           list[str]    the script's interpreter and its arguments
    variables      object       environment variables of the script, text by name
    limits         object       [soft, hard] by number of the resource (`resource.RLIMIT_*`, as text)

**Report**: lines of JSON on the report channel. The harness writes them, `worker.observation.harness_report`
reads them. Each line has a `kind`:

    torch      flags: value by name, right after `import torch` (`watch.numeric_flags`)
    exception  type: qualified name; message: text, absent if the script's own code would have to compose it
    end        flags: as above, at the end, and with the setting `compile` the number `compile.graphs`;
               devices: ["cpu"] or the cards in use, as "cuda:0"
    warning    one warning that was shown: category, base, text, file, line, script_line, count, as
               `worker.contract.observation.CapturedWarning`
    warnings   omitted: how often further warnings were shown; absent if warnings were not noted
    trace      see below
    passage    points: list of {line, state}, as `worker.contract.passage.PassedPoint`; compiled_frames:
               number of frames that torch's compiler compiled, absent without torch
    value      one captured value, see below
    values     omitted: number of values that were left out
    tripped    the script did something that a warm start would have been too late for; the attempt is void

**Captured value**, a `value` line. `values.py` writes it, `worker.observation.captured_values` reads it:

    name        str        the global variable's name, or "print[N]" for the N-th formatted tensor
    origin      str        "final": held when the script ended; "printed": formatted while it ran
    of          str        "tensor" | "array" | "number"
    dtype       str        "torch.float32", numpy's "float32" or Python's "float"
    shape       list[int]  lengths of the dimensions, [] for a number
    device      str        "cpu" or "cuda:0"
    digest      str        "sha256:" and the hex digest of the elements' bytes, little-endian, row by row
    statistics  object     of the elements; least, greatest, mean: float or null, of the finite ones;
                           nan, positive_infinite, negative_infinite, zero: counts
    data        str        base64 of the same bytes, for at most 4 KiB a value

`digest`, `statistics` and `data` are absent where the elements could not be read.

**Question**, one operation of torch, a dict. `operations.pack` writes a list of them with `torch.save`,
`rounding_check.py` reads it with `weights_only`:

    number        int          position among the script's operations, from 1
    name          str          "aten::mm"
    overload      str          the overload's name in torch's schema, "" for the default
    inputs_agree  bool | None  whether both sides got equal bits; None for one side
    sides         list         one or two dicts:
        side      str          "cpu" | "cuda"
        tf32      bool         whether the card was allowed to use TF32
        default   dtype        torch's default dtype at that time
        args      list         arguments; tensors are copies on the CPU; a device, layout or format is None
        kwargs    dict         keyword arguments, as `args`; without `out`
        out       list         output tensors, copies on the CPU

**Answer** of the rounding check, one JSON object on its standard output; `trace.py` reads it and adds it to
the `trace` line, which `worker.contract.trace.Trace` describes field by field:

    answered, unexplained, unjudged, reduced   int   counts of questions (the first) and of sides (the others)
    operations   list   the most telling operations (`rounding_check.choose`):
        number, name, inputs_agree   as in the question
        dtype, shape                 of the first output
        gap, relative_gap            largest difference of the two sides' outputs, absolute and relative
        input_gap                    largest relative difference of their inputs
        sides   list    side: as in the question; explained, reduced: bool (explained: null if unknown);
                        error: absolute; ulps: the error in units in the last place of the reference;
                        span: width of the neighbours' results;
                        worst: [result, reference] of the worst element, as float, "inf", "-inf" or "nan"

The `trace` line also has `own`, the operations for which the script registers a kernel ("aten::cos"), and
`shadow`, which `worker.contract.trace.Shadow` describes field by field. `shadow/shadow.py` has the table of
shadows, `shadow/shadow_steps.py` follows the operations, `shadow/shown_values.py` compares what is shown.

**Environment**, one JSON object on standard output: `probe.py` writes it, `worker.environment.capture` reads
it. Text, number, bool or list of text by dotted name ("cpu.model", "gpu.0.memory_bytes"); what the system
lacks is absent.

**Known answer**, one JSON object on standard output: `known_answer.py` writes it, `worker.cards.health` reads
it. Its keys are in that file.

**Overwritten memory**, a JSON list of the bytes of each card on standard output: `check/overwrite.py` writes
it, `worker.cards.overwriting` reads it.
"""

from pathlib import Path

_HERE = Path(__file__).resolve().parent

HARNESS_PATH = "/run/samehere/harness.py"
HARNESS_CONFIG_PATH = "/run/samehere/harness.json"
# The sandbox replaces this text by the number of the report channel.
REPORT_FD_PLACEHOLDER = "@REPORT_FD@"
_FOLDER = "/run/samehere"
# `watch.py` loads these when it needs them.
_LOADED_BY_THE_HARNESS = (
    "elements.py",
    "values.py",
    "trace.py",
    "passage.py",
    "check/rounding_check.py",
    "check/reference.py",
    "check/operations.py",
    "aids/warning_notes.py",
    "aids/fix.py",
    "aids/compile_layer.py",
    "check/residuals.py",
    "check/stand_ins.py",
    "shadow/own_kernels.py",
    "shadow/noise.py",
    "shadow/literals.py",
    "shadow/snapshots.py",
    "shadow/shadow.py",
    "shadow/together.py",
    "shadow/shadow_steps.py",
    "shadow/step_kinds.py",
    "shadow/shown_values.py",
    "shadow/unwritten.py",
    "shadow/whole_numbers.py",
    "decisions/choices.py",
    "shadow/alike.py",
    "decisions/flips.py",
    "decisions/script_text.py",
    "decisions/script_numbers.py",
    "shadow/formulas.py",
    "decisions/decisions.py",
    "shadow/step_digests.py",
)
_LOADED_BY_THE_PAUSED = ("hidden.py", "isolate.py", "tripwire.py", "watch.py")


def harness_sources() -> dict[str, bytes]:
    """The harness and the files that it loads: source text by path inside the sandbox."""
    return _sources("watch.py", _LOADED_BY_THE_HARNESS)


def paused_sources() -> dict[str, bytes]:
    """The program of a paused interpreter and the files that it loads: source text by path."""
    return _sources("pause.py", _LOADED_BY_THE_PAUSED)


def _sources(program: str, loaded: tuple[str, ...]) -> dict[str, bytes]:
    sources = {f"{_FOLDER}/{Path(name).name}": (_HERE / name).read_bytes() for name in loaded}
    return {HARNESS_PATH: (_HERE / program).read_bytes(), **sources}


def fix_source() -> str:
    """The program that fixes a source of variation: `start` and `after_torch`."""
    return (_HERE / "aids" / "fix.py").read_text(encoding="utf-8")


def probe_source() -> bytes:
    """The program that records the environment in which a script would run."""
    return (_HERE / "probe.py").read_bytes()


def known_answer_source() -> bytes:
    """The program that checks whether the cards compute correctly.

    Its argument: bytes of card memory to check.
    """
    return (_HERE / "known_answer.py").read_bytes()


def overwrite_source() -> bytes:
    """The program that overwrites the memory of the cards that it sees."""
    return (_HERE / "check" / "overwrite.py").read_bytes()


def reporter_sources() -> dict[str, str]:
    """The programs that make up `probe.py`, the file for reporters: source text by file name."""
    names = ("probe.py", "watch.py", "values.py", "elements.py", "scrub.py")
    sources = {name: _HERE / name for name in names}
    sources |= {name: _HERE / "reporter" / name for name in ("customization.py", "program.py")}
    return {name: path.read_text(encoding="utf-8") for name, path in sources.items()}


def hook_source() -> str:
    """The module in every toolchain's site-packages that starts the harness, if there is one."""
    return (_HERE / "hook.py").read_text(encoding="utf-8")
