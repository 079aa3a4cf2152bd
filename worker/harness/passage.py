"""Observes whether statements of the script are executed and left normally.

`watch.py` loads it before the script begins, if the node asks for the passage of points. Only code that holds
a point is traced, and no longer some time after all its points were passed. Forks and threads are seen too, a
new process of Python is not. `worker/harness/__init__.py` describes points and the `passage` line.
"""

import sys

SCRIPT_PATH = "/home/u/script.py"
TOOL, TOOL_NAME = 4, "samehere"
# Events in a code object after its last point was passed. A later round of a loop may still fail.
MOST_EVENTS_AFTER = 100000
BEGAN, PASSED, RAISED = 1, 2, 4
# How iterators and generators end. It is no failure.
ENDS = (StopIteration, StopAsyncIteration, GeneratorExit)
# Instructions know their columns. Without them, lines alone can't tell some statements apart.
HAS_COLUMNS = sys.version_info >= (3, 11)
EXCEPTION_EVENT, LINE_EVENT, OPCODE_EVENT, RETURN_EVENT = "exception", "line", "opcode", "return"


class Point:
    """A point, and what is known of it. `byte` is its place in the memory that forks share."""

    def __init__(self, byte, facts):
        self.byte = byte
        self.line, self.column, self.end_line, self.end_column = facts["span"]
        self.code = facts["code"]
        self.alone = facts["alone"]
        self.calls = [tuple(call) for call in facts["calls"]]
        self.missing = set(self.calls)

    def is_exact(self):
        """Whether lines alone can't tell."""
        return bool(self.calls) or not self.alone

    def has_line(self, line):
        """Whether a line is one of the statement's."""
        return line is not None and self.line <= line <= self.end_line

    def has_place(self, place):
        """Whether an instruction belongs to the statement; `place` is an item of `co_positions`."""
        line, end_line, column, end_column = place
        if None in place:
            return False
        begin, end = (line, column), (end_line, end_column)
        return (self.line, self.column) <= begin and end <= (self.end_line, self.end_column)

    def note_call(self, place):
        """Note that a call begins. The place of a method's call may begin at the method's name."""
        line, end_line, column, end_column = place
        for call in list(self.missing):
            if (end_line, end_column) == call[2:] and call[:2] <= (line, column):
                self.missing.discard(call)


class Passage:
    """The points of an attempt."""

    def __init__(self, points):
        import mmap

        # Anonymous memory that forks share.
        self.memory = mmap.mmap(-1, max(1, len(points)))
        self.points = [Point(byte, facts) for byte, facts in enumerate(points)]
        self.codes = {}
        self.places = {}
        self.events_left = {}
        # The point that each frame is in, by the frame's identity and the point's byte.
        self.inside = set()

    def points_in(self, code):
        """The points whose statement is in a code object, and those of whose expressions are."""
        known = self.codes.get(code)
        if known is None:
            known = ([], [])
            if code.co_filename == SCRIPT_PATH:
                lines = lines_of(code)
                for point in self.points:
                    if not any(point.has_line(line) for line in lines):
                        continue
                    if code.co_name == point.code:
                        known[0].append(point)
                    elif code.co_name.startswith("<") and point.calls:
                        known[1].append(point)
            self.codes[code] = known
            self.events_left[code] = MOST_EVENTS_AFTER
        return known

    def is_over(self, code):
        """Whether all points of a code object were passed some time ago."""
        own, _ = self.points_in(code)
        if all(self.memory[point.byte] & PASSED for point in own):
            self.events_left[code] -= 1
        return self.events_left[code] <= 0

    def place_of(self, code, offset):
        """The place of an instruction, as lines and columns: (line, last line, column, last column)."""
        places = self.places.get(code)
        if places is None:
            places = self.places[code] = list(code.co_positions())
        at = offset // 2
        return places[at] if 0 <= at < len(places) else (None,) * 4

    def mark(self, point, state):
        """Note a state of a point, for this process and its forks."""
        self.memory[point.byte] |= state

    def enter(self, key, point):
        """A frame begins the statement."""
        self.mark(point, BEGAN)
        self.inside.add((key, point.byte))

    def leave(self, key, point):
        """A frame is elsewhere. It passed the statement if it was in it, and all calls in it happened."""
        if (key, point.byte) in self.inside:
            self.inside.discard((key, point.byte))
            if not point.missing:
                self.mark(point, PASSED)

    def at_line(self, key, code, line):
        """A frame begins a line. Returns whether its instructions must be observed too."""
        exact = False
        for point in self.points_in(code)[0]:
            if not point.has_line(line):
                self.leave(key, point)
            elif point.alone:
                self.enter(key, point)
            exact = exact or (point.is_exact() and point.has_line(line))
        return HAS_COLUMNS and (exact or bool(self.points_in(code)[1]))

    def at_instruction(self, key, code, offset):
        """A frame begins an instruction."""
        place = self.place_of(code, offset)
        if None in place:
            return
        own, inner = self.points_in(code)
        for point in own:
            if point.has_place(place):
                if not point.alone:
                    self.enter(key, point)
                point.note_call(place)
            elif not point.alone:
                self.leave(key, point)
        for point in inner:
            point.note_call(place)

    def at_exception(self, key, code, error):
        """An exception goes through a frame."""
        for point in self.points_in(code)[0]:
            if (key, point.byte) in self.inside:
                self.inside.discard((key, point.byte))
                if not issubclass(error, ENDS):
                    self.mark(point, RAISED)

    def at_return(self, key, code):
        """A frame ends normally."""
        for point in self.points_in(code)[0]:
            self.leave(key, point)

    def state(self, point):
        """The state of a point, as in the report."""
        state = self.memory[point.byte]
        if point.is_exact() and not HAS_COLUMNS:
            return "unknown"
        return "raised" if state & RAISED else "passed" if state & PASSED else "not_reached"


def lines_of(code):
    """The lines of a code object."""
    if sys.version_info >= (3, 10):
        return {line for _, _, line in code.co_lines() if line is not None}
    import dis

    return {line for _, line in dis.findlinestarts(code)}


def start_tracer(passage):
    """Observe with `sys.settrace`, before Python 3.12."""
    import threading

    def local(frame, event, argument):
        code, key = frame.f_code, id(frame)
        if event == LINE_EVENT:
            if passage.is_over(code):
                frame.f_trace_opcodes = False
                return None
            frame.f_trace_opcodes = passage.at_line(key, code, frame.f_lineno)
        elif event == OPCODE_EVENT:
            passage.at_instruction(key, code, frame.f_lasti)
        elif event == EXCEPTION_EVENT:
            passage.at_exception(key, code, argument[0])
        elif event == RETURN_EVENT:
            passage.at_return(key, code)
        return local

    def tracer(frame, _event, _argument):
        code = frame.f_code
        if code.co_filename != SCRIPT_PATH or not any(passage.points_in(code)):
            return None
        return None if passage.is_over(code) else local

    threading.settrace(tracer)
    sys.settrace(tracer)
    return [tracer, local]


class Monitor:
    """The callbacks of `sys.monitoring`, from Python 3.12 on. The observed frame calls them."""

    def __init__(self, passage):
        self.passage = passage
        self.monitoring = sys.monitoring

    def at_start(self, code, _offset):
        """Code begins: observe it if it holds a point."""
        passage, events = self.passage, self.monitoring.events
        if code.co_filename == SCRIPT_PATH and any(passage.points_in(code)) and not passage.is_over(code):
            own, inner = passage.points_in(code)
            chosen = events.LINE | events.PY_RETURN | events.PY_YIELD
            if inner or any(point.is_exact() for point in own):
                chosen |= events.INSTRUCTION
            self.monitoring.set_local_events(TOOL, code, chosen)
        return self.monitoring.DISABLE

    def at_line(self, code, line):
        """A line begins."""
        if self.passage.is_over(code):
            self.monitoring.set_local_events(TOOL, code, 0)
        else:
            self.passage.at_line(id(sys._getframe(1)), code, line)

    def at_instruction(self, code, offset):
        """An instruction begins. Those on other lines are not observed again."""
        line = self.passage.place_of(code, offset)[0]
        own, inner = self.passage.points_in(code)
        if not inner and not any(point.is_exact() and point.has_line(line) for point in own):
            return self.monitoring.DISABLE
        self.passage.at_instruction(id(sys._getframe(1)), code, offset)
        return None

    def at_return(self, code, _offset, _value):
        """A frame ends normally."""
        self.passage.at_return(id(sys._getframe(1)), code)

    def at_raise(self, code, _offset, error):
        """An exception goes through a frame, of any code."""
        if code in self.passage.codes:
            self.passage.at_exception(id(sys._getframe(1)), code, type(error))

    def start(self):
        """Start to observe. Returns the callbacks."""
        events = self.monitoring.events
        self.monitoring.use_tool_id(TOOL, TOOL_NAME)
        callbacks = {
            events.PY_START: self.at_start,
            events.LINE: self.at_line,
            events.INSTRUCTION: self.at_instruction,
            events.PY_RETURN: self.at_return,
            events.PY_YIELD: self.at_return,
            events.RAISE: self.at_raise,
        }
        for event, callback in callbacks.items():
            self.monitoring.register_callback(TOOL, event, callback)
        self.monitoring.set_events(TOOL, events.PY_START | events.RAISE)
        return list(callbacks.values())


def start(points):
    """Start to observe. Returns the Passage."""
    passage = Passage(points)
    passage.callbacks = start_tracer(passage) if sys.version_info < (3, 12) else Monitor(passage).start()
    return passage


def skip_compiling(passage, torch):
    """Have torch's compiler leave our callbacks alone: it would compile each of them."""
    functions = [*passage.callbacks, *vars(Passage).values(), *vars(Point).values()]
    for function in functions:
        code = getattr(function, "__code__", None)
        if code is not None:
            torch._C._dynamo.eval_frame.skip_code(code)


def message(passage):
    """Stop to observe. Returns the `passage` line of the report."""
    if sys.version_info < (3, 12):
        sys.settrace(None)
    elif sys.monitoring.get_tool(TOOL) == TOOL_NAME:
        sys.monitoring.set_events(TOOL, 0)
    points = [{"line": point.line, "state": passage.state(point)} for point in passage.points]
    line = {"kind": "passage", "points": points}
    if "torch" in sys.modules:
        line["compiled_frames"] = compiled_frames()
    return line


def compiled_frames():
    """The number of frames that torch's compiler compiled: the code inside them can't be observed."""
    compiler = sys.modules.get("torch._dynamo.utils")
    try:
        return 0 if compiler is None else int(compiler.counters["frames"]["ok"])
    except Exception:
        return 0
