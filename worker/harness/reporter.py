"""The program of `probe.py`: runs a reporter's script in a process of its own, and prints what happened and where, to be pasted.

Standard library, Python 3.8 syntax, any system. Stands in one file with the other programs, which are in `SOURCES` as text.
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
# Of each stream the end, as it would be pasted.
MOST_LINES = 60
MOST_BYTES = 4096
MOST_LINE = 400
MOST_VALUES = 40
MOST_DATA = 256
MOST_TEXT = 1000
REPORT_BYTES = 1 << 18
# Packages that decide what numbers come out; and those that the script imports. Others are nobody's business.
PACKAGES = re.compile(
    r"(?:py)?torch.*|functorch|triton.*|numpy|scipy|mkl.*|intel-openmp|onednn.*|nvidia-.*|cuda-.*|cupy.*|jax.*|tensorflow.*|keras|pandas"
    r"|scikit-learn|transformers|accelerate|safetensors|xformers|flash-attn|deepspeed|lightning|pytorch-lightning|einops|sympy|networkx"
)
# As JSON may write them: nothing in a paste then is a fence, markup, a name that is called, or an entity.
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
WORDS = """\
----------------------------------------------------------------------------
What follows is for the report: copy all of it, from one line of ``` to the other.
It says which versions and which hardware this is, how the script ended, the end
of what it printed, and its last numbers. Nothing was sent anywhere. Names of
users and machines, folders and serial numbers are taken out, as far as a program
can know them: look once yourself at what the script printed.
----------------------------------------------------------------------------"""


class Tail:
    """Passes a stream on as it comes, and keeps its end."""

    def __init__(self, stream, onto):
        self.kept, self.total = b"", 0
        self.thread = threading.Thread(target=self.follow, args=(stream, onto), daemon=True)
        self.thread.start()

    def follow(self, stream, onto):
        while True:
            data = os.read(stream.fileno(), 65536)
            if not data:
                return
            self.total += len(data)
            self.kept = (self.kept + data)[-16 * MOST_BYTES :]
            try:
                onto.write(data.decode("utf-8", "replace").replace("\r\n", "\n"))
                onto.flush()
            except Exception:  # noqa: S112
                continue

    def text(self):
        return self.kept.decode("utf-8", "replace").replace("\r\n", "\n")

    def lines(self):
        """The last lines, and whether that is all there was."""
        lines = self.text().split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        kept, left = [], MOST_BYTES
        for line in reversed(lines[-MOST_LINES:]):
            left -= len(line) + 1
            if left < 0:
                break
            kept.append(line[:MOST_LINE])
        kept.reverse()
        return kept, self.total == len(self.kept) and kept == lines


def load(name):
    names = {"__name__": "samehere_" + name}
    exec(compile(SOURCES[name + ".py"], name + ".py", "exec"), names)  # noqa: S102
    return names


def scrubber(folder):
    """Knows what this machine and its user are called, and where their files lie."""
    folders, names = (
        {
            folder,
            os.path.realpath(folder),
            os.getcwd(),
            os.path.expanduser("~"),
            os.path.realpath(os.path.expanduser("~")),
        },
        set(),
    )
    for ask in (getpass.getuser, platform.node, lambda: platform.node().split(".")[0]):
        try:
            names.add(ask())
        except Exception:  # noqa: PERF203, S112
            continue
    names.add(os.path.basename(os.path.expanduser("~")))
    roots = {"/", "\\", os.path.abspath(os.sep)}
    return load("scrub")["Scrubber"](folders - roots, names)


def environment(folder):
    """What the node records of a sandbox, by the same program."""
    path = os.path.join(folder, "environment.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SOURCES["probe.py"])
    try:
        done = subprocess.run(
            [sys.executable, path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=ENVIRONMENT_SECONDS,
            check=False,
        )
        found = json.loads(done.stdout.decode("utf-8", "replace").strip().splitlines()[-1])
    except Exception as error:
        found = {
            "python.version": platform.python_version(),
            "os.machine": platform.machine(),
            "probe.failed": type(error).__name__,
        }
    return found


def imported(script):
    """The names of packages that a script imports."""
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


def told_fields(found, script, scrub):
    """The fields that may be told: as the node, those with someone's path or a serial number are left out."""
    wanted, private = imported(script), load("scrub")["is_private"]
    for name, value in sorted(found.items()):
        package = name[len("package.") :] if name.startswith("package.") else None
        if package is not None and not PACKAGES.fullmatch(package) and package not in wanted:
            continue
        texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
        if not any(
            private(text) or len(text) > MOST_TEXT or scrub.clean(text) != text for text in [name, *texts]
        ):
            yield name, value


def run(path, arguments, folder):
    """The script in a new process of this interpreter, started as by hand; what is seen of it from outside, and what the watch said."""
    customization, sources, report = (os.path.join(folder, name) for name in ("first", "sources", "report"))
    for made in (customization, sources):
        os.mkdir(made)
    for name in ("watch.py", "values.py", "elements.py"):
        with open(os.path.join(sources, name), "w", encoding="utf-8") as file:
            file.write(SOURCES[name])
    with open(os.path.join(customization, "sitecustomize.py"), "w", encoding="utf-8") as file:
        file.write(SOURCES["reported.py"])
    before = os.environ.get("PYTHONPATH")
    with open(os.path.join(customization, "watched"), "w", encoding="utf-8") as file:
        file.write(repr({"path": before, "sources": sources, "report": report, "bytes": REPORT_BYTES}))
    variables = dict(os.environ, PYTHONPATH=customization + (os.pathsep + before if before else ""))
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, path, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables
    )
    streams = Tail(process.stdout, sys.stdout), Tail(process.stderr, sys.stderr)
    interrupted = not ended(process)
    seconds = time.monotonic() - began
    for stream in streams:
        # What the script left behind may hold a stream open for ever.
        stream.thread.join(5)
    return process.returncode, interrupted, seconds, streams, said(report)


def ended(process):
    """Wait for the end; False when somebody got tired of waiting."""
    try:
        process.wait()
    except KeyboardInterrupt:
        # A terminal tells the script as well.
        try:
            process.wait(5)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.kill()
            process.wait()
        return False
    return True


def said(report):
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
    """The facts of the end, in our names."""
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
        # One that the script's own code would compose stands in the traceback alone.
        message = printed[1] if message is None and printed else message
        yield "exception.type", str(kind)
        yield "exception.message", str(message or "")[:MOST_TEXT]
    yield "wall_seconds", round(seconds, 1)
    end = next((message for message in messages if message.get("kind") == "end"), {})
    if end.get("devices"):
        yield "devices_used", end["devices"]


def last_line(text):
    """Type and message from a traceback."""
    at = text.rfind("Traceback (most recent call last):")
    found = (
        re.search(r"^([A-Za-z_][\w.]*)(?:: (.*))?$", text[at:].split("\n", 1)[-1], re.MULTILINE)
        if at >= 0
        else None
    )
    return (found.group(1), found.group(2) or "") if found else None


def told_values(messages):
    values = [message for message in messages if message.get("kind") == "value"]
    for message in values[:MOST_VALUES]:
        told = {name: value for name, value in message.items() if name != "kind"}
        if len(told.get("data", "")) > MOST_DATA:
            del told["data"]
        yield told
    omitted = sum(message.get("omitted", 0) for message in messages if message.get("kind") == "values") + len(
        values[MOST_VALUES:]
    )
    if omitted:
        yield omitted


def block(records, scrub):
    """The records as lines; each can be read without the others, the last says how many there should be."""

    def clean(value):
        if isinstance(value, str):
            return scrub.clean(value)
        return [clean(item) for item in value] if isinstance(value, list) else value

    lines = ["samehere-probe %d" % FORMAT]
    for kind, name, value in records:
        safe = {key: clean(item) for key, item in value.items()} if isinstance(value, dict) else clean(value)
        lines.append(
            "%s %s = %s"
            % (kind, name, json.dumps(safe, ensure_ascii=True, sort_keys=True).translate(ESCAPED))
        )
    lines.append("end %d" % (len(lines) - 1))
    return "\n".join(["```samehere-probe", *lines, "```"])


def records_of(path, script, arguments, folder, scrub):
    for name, value in told_fields(environment(folder), script, scrub):
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
    for number, value in enumerate(told_values(messages), 1):
        yield (
            ("value", str(number), value) if isinstance(value, dict) else ("outcome", "values_omitted", value)
        )


def probe(script="", arguments=()):
    """Run a script, given as its path or as its text, and print the block; without one, the environment alone."""
    if not sys.executable:
        print("This Python does not know its own program, so no script can be run in it.")
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
        scrub = scrubber(os.path.dirname(os.path.abspath(path)) if path else folder)
        print(
            "Looking at this machine%s: this takes a while." % (", then running the script" if path else "")
        )
        sys.stdout.flush()
        made = block(list(records_of(path, text, list(arguments), folder, scrub)), scrub)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n" + WORDS + "\n")
    print(made)
    return


def main():
    """As a program by its arguments; in a notebook's cell by `SCRIPT`."""
    # Some notebooks set a file as well; the words are then those of their own program.
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
            print("\nThis is the environment alone. To show what a script does: " + USAGE[as_program])
    return 0


USAGE = {
    True: "python probe.py script.py",
    False: 'put it between the quotes of SCRIPT at the top of this cell, or: probe("""...""")',
}

if __name__ == "__main__":
    STATUS = main()
    if STATUS:
        sys.exit(STATUS)
