"""The main program of the reporters' `probe.py`: runs a script in a process and prints a block to paste.

`worker.contract.programs.probe` joins it with the other programs, which are in `SOURCES` as text by file
name. `app.intake.probe_output` reads the block: one record a line, `KIND NAME = JSON`, with these kinds:

    environment  a fact by dotted name, as `probe.py` records it; private ones are left out
    outcome      exit_status: int or null; signal: name or null; interrupted: true; wall_seconds: float;
                 exception.type, exception.message: text; devices_used: list; values_omitted: int;
                 stdout_whole, stderr_whole: whether the lines below are all that was printed
    stdout       a line of the stream's end; the name is the number of the line
    stderr       the same
    value        a captured value as in `worker/harness/__init__.py`, without `kind`

Standard library, Python 3.8 syntax, any system.
"""

import ast
import getpass
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

SOURCES = globals().get("SOURCES", {})
SCRIPT = globals().get("SCRIPT", "")
FORMAT = 1
ENVIRONMENT_SECONDS = 300
# Limits for the end of each stream that the block shows.
MOST_LINES = 60
MOST_BYTES = 4096
MOST_LINE = 400
MOST_VALUES = 40
MOST_DATA = 256
MOST_TEXT = 1000
REPORT_BYTES = 1 << 18
# Packages that influence numeric results. The block names
# these and those that the script imports; others are private.
PACKAGES = re.compile(
    r"(?:py)?torch.*|functorch|triton.*"
    r"|numpy|scipy|mkl.*|intel-openmp|onednn.*"
    r"|nvidia-.*|cuda-.*|cupy.*"
    r"|jax.*|tensorflow.*|keras"
    r"|pandas|scikit-learn|einops|sympy|networkx"
    r"|transformers|accelerate|safetensors|xformers|flash-attn|deepspeed|lightning|pytorch-lightning"
)
# JSON escapes for characters that could be a code fence,
# markup, a mention or an entity where the block is pasted.
ESCAPED = {ord(sign): "\\u%04x" % ord(sign) for sign in "<>&`@"}
WINDOWS_FAULTS = {
    0xC0000005: "SIGSEGV",
    0xC00000FD: "SIGSEGV",
    0xC000001D: "SIGILL",
    0xC0000094: "SIGFPE",
    0xC0000374: "SIGABRT",
    0xC0000409: "SIGABRT",
    0x40000015: "SIGABRT",
}
EXPLANATION = """\
----------------------------------------------------------------------------
Copy the block below into the report, all of it, from one line of ``` to the other.
It shows your versions and hardware, how the script ended, the last lines that it
printed, and its last numbers. Nothing was sent anywhere. This program removed
names of users and machines, folders and serial numbers where it could recognise
them. Please check the printed lines yourself before you paste them.
----------------------------------------------------------------------------"""


class Tail:
    """Copies a stream to another one as data arrives, and stores its end."""

    def __init__(self, stream, target):
        self.data, self.total_bytes = b"", 0
        self.thread = threading.Thread(target=self.follow, args=(stream, target), daemon=True)
        self.thread.start()

    def follow(self, stream, target):
        """Copy until the stream ends; in a thread of its own."""
        while True:
            data = os.read(stream.fileno(), 65536)
            if not data:
                return
            self.total_bytes += len(data)
            self.data = (self.data + data)[-16 * MOST_BYTES :]
            try:
                target.write(data.decode("utf-8", "replace").replace("\r\n", "\n"))
                target.flush()
            except Exception:  # noqa: S112
                continue

    def text(self):
        """The stored end as text."""
        return self.data.decode("utf-8", "replace").replace("\r\n", "\n")

    def lines(self):
        """The last lines, and whether the script printed nothing else."""
        lines = self.text().split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        last, bytes_left = [], MOST_BYTES
        for line in reversed(lines[-MOST_LINES:]):
            bytes_left -= len(line) + 1
            if bytes_left < 0:
                break
            last.append(line[:MOST_LINE])
        last.reverse()
        return last, self.total_bytes == len(self.data) and last == lines


def load(name):
    """The globals of another program."""
    names = {"__name__": "samehere_" + name}
    exec(compile(SOURCES[name + ".py"], name + ".py", "exec"), names)  # noqa: S102
    return names


def make_scrubber(folder):
    """A Scrubber that knows the names of this machine and its user, and the folders of their files."""
    home = os.path.expanduser("~")
    folders, names = {folder, os.path.realpath(folder), os.getcwd(), home, os.path.realpath(home)}, set()
    for ask in (getpass.getuser, platform.node, lambda: platform.node().split(".")[0]):
        try:
            names.add(ask())
        except Exception:  # noqa: PERF203, S112
            continue
    names.add(os.path.basename(os.path.expanduser("~")))
    roots = {"/", "\\", os.path.abspath(os.sep)}
    return load("scrub")["Scrubber"](folders - roots, names)


def read_environment(folder):
    """The facts that `probe.py` records, value by name; a few facts and `probe.failed` if it fails."""
    path = os.path.join(folder, "environment.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SOURCES["probe.py"])
    try:
        process = subprocess.run(
            [sys.executable, path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=ENVIRONMENT_SECONDS,
            check=False,
        )
        return json.loads(process.stdout.decode("utf-8", "replace").strip().splitlines()[-1])
    except Exception as error:
        return {
            "python.version": platform.python_version(),
            "os.machine": platform.machine(),
            "probe.failed": type(error).__name__,
        }


def imported_packages(script):
    """The names of packages that a script imports; none if Python can't parse it."""
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return {name.replace("_", "-").lower() for name in names}


def public_facts(facts, script, scrub):
    """Yield name and value of the facts that hold no private path and no serial number."""
    imported, is_private = imported_packages(script), load("scrub")["is_private"]
    for name, value in sorted(facts.items()):
        package = name[len("package.") :] if name.startswith("package.") else None
        if package is not None and not PACKAGES.fullmatch(package) and package not in imported:
            continue
        texts = [name, *(value if isinstance(value, list) else [value] if isinstance(value, str) else [])]
        if not any(is_private(text) or len(text) > MOST_TEXT or scrub.clean(text) != text for text in texts):
            yield name, value


def run(path, arguments, folder):
    """Run the script in a new process of this interpreter, with the harness.

    Returns the exit status, whether the user interrupted it, seconds, the Tails of stdout and stderr, and the
    messages of the report. `folder` is an empty folder for our files.
    """
    customization, sources, report = (os.path.join(folder, name) for name in ("first", "sources", "report"))
    for new_folder in (customization, sources):
        os.mkdir(new_folder)
    for name in ("watch.py", "values.py", "elements.py"):
        with open(os.path.join(sources, name), "w", encoding="utf-8") as file:
            file.write(SOURCES[name])
    with open(os.path.join(customization, "sitecustomize.py"), "w", encoding="utf-8") as file:
        file.write(SOURCES["customization.py"])
    before = os.environ.get("PYTHONPATH")
    with open(os.path.join(customization, "watched"), "w", encoding="utf-8") as file:
        file.write(repr({"path": before, "sources": sources, "report": report, "bytes": REPORT_BYTES}))
    variables = dict(os.environ, PYTHONPATH=customization + (os.pathsep + before if before else ""))
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables
    )
    streams = Tail(process.stdout, sys.stdout), Tail(process.stderr, sys.stderr)
    interrupted = not wait_for(process)
    seconds = time.monotonic() - began
    for stream in streams:
        # A process that the script left behind may hold a stream open for ever.
        stream.thread.join(5)
    return process.returncode, interrupted, seconds, streams, read_messages(report)


def wait_for(process):
    """Wait for the process's end; False if the user interrupted it."""
    try:
        process.wait()
    except KeyboardInterrupt:
        # A terminal sends the signal to the script as well.
        try:
            process.wait(5)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.kill()
            process.wait()
        return False
    return True


def read_messages(report):
    """The messages in the report's file, as dicts; without lines that are no JSON object."""
    try:
        with open(report, encoding="ascii", errors="replace") as file:
            lines = file.read(4 * REPORT_BYTES).splitlines()
    except OSError:
        return []
    messages = []
    for line in lines:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict):
            messages.append(message)
    return messages


def outcome(status, interrupted, seconds, streams, messages):
    """Yield name and value of the facts about the script's end."""
    name = None
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = "signal %d" % -status
    name = WINDOWS_FAULTS.get(status, name)
    yield "exit_status", status if name is None else None
    yield "signal", name
    if interrupted:
        yield "interrupted", True
    exception = next((message for message in messages if message.get("kind") == "exception"), None)
    printed = last_line(streams[1].text()) if status == 1 else None
    if status == 1 and (exception or printed):
        kind, message = (exception.get("type"), exception.get("message")) if exception else printed
        # Only the traceback has a message that the script's own code composes.
        message = printed[1] if message is None and printed else message
        yield "exception.type", str(kind)
        yield "exception.message", str(message or "")[:MOST_TEXT]
    yield "wall_seconds", round(seconds, 1)
    end = next((message for message in messages if message.get("kind") == "end"), {})
    if end.get("devices"):
        yield "devices_used", end["devices"]


def last_line(text):
    """The type and the message of the exception in the last traceback; None if there is none."""
    at = text.rfind("Traceback (most recent call last):")
    if at < 0:
        return None
    after = text[at:].split("\n", 1)[-1]
    match = re.search(r"^([A-Za-z_][\w.]*)(?:: (.*))?$", after, re.MULTILINE)
    return (match.group(1), match.group(2) or "") if match else None


def values_of(messages):
    """Yield each captured value as a dict; at the end, if values were omitted, their number as an int."""
    values = [message for message in messages if message.get("kind") == "value"]
    for message in values[:MOST_VALUES]:
        value = {name: content for name, content in message.items() if name != "kind"}
        if len(value.get("data", "")) > MOST_DATA:
            del value["data"]
        yield value
    omitted = sum(message.get("omitted", 0) for message in messages if message.get("kind") == "values")
    omitted += len(values[MOST_VALUES:])
    if omitted:
        yield omitted


def make_block(records, scrub):
    """The text of the block.

    Each line can be read without the others; the last one has the number of records.

    `records`: tuples of kind, name and value.
    """

    def clean(value):
        if isinstance(value, str):
            return scrub.clean(value)
        return [clean(item) for item in value] if isinstance(value, list) else value

    lines = ["samehere-probe %d" % FORMAT]
    for kind, name, value in records:
        safe = {key: clean(item) for key, item in value.items()} if isinstance(value, dict) else clean(value)
        text = json.dumps(safe, ensure_ascii=True, sort_keys=True).translate(ESCAPED)
        lines.append("%s %s = %s" % (kind, name, text))
    lines.append("end %d" % (len(lines) - 1))
    return "\n".join(["```samehere-probe", *lines, "```"])


def records_of(path, script, arguments, folder, scrub):
    """Yield the records, as kind, name and value; without a path, only those of the environment."""
    for name, value in public_facts(read_environment(folder), script, scrub):
        yield "environment", name, value
    if path is None:
        return
    status, interrupted, seconds, streams, messages = run(path, arguments, folder)
    for name, value in outcome(status, interrupted, seconds, streams, messages):
        yield "outcome", name, value
    for name, stream in zip(("stdout", "stderr"), streams):
        lines, whole = stream.lines()
        yield "outcome", name + "_whole", whole
        for number, line in enumerate(lines, 1):
            yield name, str(number), line
    for number, value in enumerate(values_of(messages), 1):
        if isinstance(value, dict):
            yield "value", str(number), value
        else:
            yield "outcome", "values_omitted", value


def probe(script="", arguments=()):
    """Run a script, given as path or text, and print the block; without one, print the environment."""
    if not sys.executable:
        print("This Python does not know the path of its own program, so it can't run a script.")
        return
    folder = tempfile.mkdtemp(prefix="probe-")
    try:
        path, text = None, ""
        if script and "\n" not in script and os.path.isfile(script):
            path = script
            with open(path, "rb") as file:
                text = file.read().decode("utf-8", "replace")
        elif script.strip():
            path, text = os.path.join(folder, "script.py"), script
            with open(path, "w", encoding="utf-8") as file:
                file.write(script)
        scrub = make_scrubber(os.path.dirname(os.path.abspath(path)) if path else folder)
        then = ", then running the script" if path else ""
        print("Examining this machine%s. This takes a while." % then)
        sys.stdout.flush()
        block = make_block(list(records_of(path, text, list(arguments), folder, scrub)), scrub)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n" + EXPLANATION + "\n")
    print(block)


def main():
    """Probe the script that the arguments name; in a notebook's cell, the text in `SCRIPT`.

    Returns the exit status.
    """
    # Some notebooks set `__file__` too. The arguments then belong to the notebook's own program.
    as_program = os.path.basename(globals().get("__file__", "")) == os.path.basename(sys.argv[0])
    words = sys.argv[1:] if as_program else []
    if words and words[0] in ("-h", "--help"):
        print(globals()["__doc__"])
    elif words and not os.path.isfile(words[0]):
        print("There is no file %s. Use: python probe.py script.py" % ascii(words[0]))
        return 2
    else:
        probe(words[0] if words else SCRIPT, words[1:])
        if not words and not SCRIPT.strip():
            print("\nThis shows only the environment. To show what a script does: " + USAGE[as_program])
    return 0


USAGE = {
    True: "python probe.py script.py",
    False: 'put it between the quotes of SCRIPT at the top of this cell, or: probe("""...""")',
}

if __name__ == "__main__":
    STATUS = main()
    if STATUS:
        sys.exit(STATUS)
