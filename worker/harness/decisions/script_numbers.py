"""Notes the numbers that a script takes out of tensors, and what Python decides by them.

A decision is rounding's if a number lies as near to another one, to a threshold or to a whole number as
rounding may carry it. `trace.py` loads it, with `shadow` and `script_text`.
"""

import ast
import math
import operator
import sys

shadow, script_text = globals()["shadow"], globals()["script_text"]

MOST_NUMBERS, MOST_FRAMES, MOST_NOTES = 20000, 24, 5
# So many elements of one tensor are noted.
MOST_ELEMENTS = 4096
# A multiple of what rounding moved the copies by.
SPREADS = 8
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.UAdd: operator.pos, ast.USub: operator.neg,
}  # fmt: skip
FUNCTIONS = {"abs": abs, "float": float, "min": min, "max": max, "pow": pow, "fabs": abs}


class UnknownError(Exception):
    """Python computes here with what was not seen."""


class Number:
    """A number that the script took out; `reach`: how far rounding may carry it."""

    __slots__ = ("mark", "reach", "value")

    def __init__(self, value, copies):
        self.value, exact = value, copies[shadow.REFERENCE]
        spread = max(abs(copies[at] - exact) for at in shadow.ROUNDED)
        self.reach = abs(value - exact) + SPREADS * spread
        # The same for a number that was taken out twice, and for equal ones that nothing has rounded.
        self.mark = (value, exact, *(copies[at] for at in shadow.ROUNDED))


class ScriptNumbers:
    """Collects numbers by the place in the script that takes them out."""

    def __init__(self):
        self.numbers, self.count = {}, 0

    def add(self, tensor, views):
        """Note the elements of a tensor that the script takes out now."""
        if tensor.is_complex() or tensor.numel() > MOST_ELEMENTS or self.count > MOST_NUMBERS:
            self.count += tensor.numel()
            return
        frame = script_frame()
        if frame is None:
            return
        self.count += tensor.numel()
        rows = self.numbers.setdefault((frame.f_code, frame.f_lasti), (frame.f_lineno, []))[1]
        copies = views.reshape(len(views), -1)[: shadow.OWN].t().tolist()
        rows.extend(Number(*each) for each in zip(tensor.reshape(-1).double().tolist(), copies))

    def decisions(self):
        """The facts of the decisions that rounding makes or may make."""
        try:
            return self.find() if self.numbers else []
        except Exception:
            # Such as a text that is gone, or too deep.
            return [{"line": 1, "why": "unknown"}]

    def find(self):
        """As `decisions`, if there are numbers. May raise."""
        (code, _), *_ = self.numbers
        with open(code.co_filename, "rb") as file:
            source = file.read()
        places = {}
        for (code, at), (line, rows) in self.numbers.items():
            places.setdefault(place_of(code, at, line), []).extend(rows)
        by_line = any(len(place) == 1 for place in places)

        def rows_of(call):
            whole = (call.lineno, call.end_lineno, call.col_offset, call.end_col_offset)
            if not by_line:
                return places.get(whole, [])
            return [row for line in range(whole[0], whole[1] + 1) for row in places.get((line,), [])]

        text = script_text.Text(source, lambda call: is_reading(call) and bool(rows_of(call)))
        notes = []
        for decision in text.decisions():
            answer = Judge(text, rows_of).answer(decision)
            if answer and len(notes) < MOST_NOTES:
                notes.append({"line": decision.line, "why": answer})
        if self.count > MOST_NUMBERS and not notes:
            notes.append({"line": 1, "why": "unknown"})
        return notes


class Judge:
    """Says whether rounding makes a decision. `rows_of` gives the numbers that a call took out."""

    def __init__(self, text, rows_of):
        self.text, self.rows_of = text, rows_of

    def answer(self, decision):
        """One of "near", "whole", "unknown"; None if rounding does not decide, or nothing was read."""
        sides = [self.text.origins_of(each) for each in decision.sides]
        if not any(sides):
            return None
        pools = [[row for call in side.values() for row in self.rows_of(call)] for side in sides]
        if decision.kind == "order":
            return "near" if are_near([row for pool in pools for row in pool]) else None
        if decision.kind == "near" and all(map(self.text.is_simple, decision.sides)):
            if all(sides):
                is_one = bool(sides[0].keys() & sides[1].keys())
                return "near" if (are_near(pools[0] + pools[1]) if is_one else cross(*pools)) else None
        try:
            return decision.kind if self.is_close(decision) else None
        except (UnknownError, ArithmeticError, ValueError):
            return "unknown"

    def is_close(self, decision):
        """Whether rounding may carry what is computed here across its edge, at any time."""
        sides = [self.text.resolve(each) for each in decision.sides]
        calls = {}
        for each in sides:
            calls.update(self.text.origins_of(each))
        rows = {key: self.rows_of(call) for key, call in calls.items()}
        times = max(map(len, rows.values()))
        if any(len(each) not in (1, times) for each in rows.values()):
            raise UnknownError
        for shift in (0, 1):
            steps = Expression(self.text, rows, shift)
            for time in range(shift, times):
                if steps.crosses(decision, sides, time):
                    return True
            if not steps.has_earlier:
                break
        return False


class Expression:
    """Evaluates what Python computes, with the numbers of one time.

    `shift`: a name that comes round in a loop has those of so many times before.
    """

    def __init__(self, text, rows, shift):
        self.text, self.rows, self.shift = text, rows, shift
        self.has_earlier = False

    def crosses(self, decision, sides, time):
        """Whether rounding may carry the decision across its edge."""
        moved = {}

        def gap():
            values = [self.value(each, time, moved) for each in sides]
            return values[0] - values[1] if decision.kind == "near" else values[0] - decision.shift

        here, reach = gap(), 0.0
        for key, rows in self.rows.items():
            number = rows[min(time, len(rows) - 1)]
            moved[key] = number.reach
            reach += abs(gap() - here)
            moved.clear()
        # A number that nothing has rounded decides as it is.
        distance = abs(here) if decision.kind == "near" else abs(here - round(here))
        return reach > 0 and distance <= reach

    def value(self, node, time, moved, depth=0):
        """The value of an expression. Raises UnknownError."""
        node = self.text.resolve(node)
        if depth > script_text.MOST_DEPTH:
            raise UnknownError
        if id(node) in self.rows:
            rows = self.rows[id(node)]
            return rows[min(time, len(rows) - 1)].value + moved.get(id(node), 0.0)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        values = [self.value(each, time, moved, depth + 1) for each in parts_of(node)]
        if isinstance(node, (ast.BinOp, ast.UnaryOp)) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](*values)
        if isinstance(node, ast.Call) and values:
            name = script_text.name_of(node.func)
            function = FUNCTIONS.get(name) or getattr(math, name, None)
            if function is not None:
                return float(function(*values))
        return self.earlier(node, time, moved)

    def earlier(self, node, time, moved):
        """The value of a name that comes round in a loop with the number of one call."""
        calls = self.text.origins_of(node) if isinstance(node, ast.Name) else {}
        if len(calls) != 1 or not self.text.is_simple(node):
            raise UnknownError
        ((key, _),) = calls.items()
        self.has_earlier = True
        rows = self.rows[key]
        return rows[max(0, min(time, len(rows) - 1) - self.shift)].value + moved.get(key, 0.0)


def parts_of(node):
    """The expressions that an expression is computed from."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    return node.args if isinstance(node, ast.Call) and not node.keywords else []


def script_frame():
    """The frame of the script that takes a number out now; None if it is not near."""
    frame = sys._getframe(1)
    for _ in range(MOST_FRAMES):
        if frame is None or frame.f_globals.get("__name__") == "__main__":
            return frame
        frame = frame.f_back
    return None


def place_of(code, at, line):
    """The lines and columns of a call; the line alone where Python does not know more."""
    positions = list(code.co_positions()) if hasattr(code, "co_positions") else []
    return positions[at // 2] if at // 2 < len(positions) and None not in positions[at // 2] else (line,)


def is_reading(call):
    """Whether a call may take numbers out of a tensor."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in script_text.TAKES_OUT
    return script_text.name_of(call.func) in script_text.CONVERTS


def are_apart(one, other):
    """Whether rounding cannot make one of two numbers the other, or both are one number."""
    return one.mark == other.mark or not abs(one.value - other.value) <= one.reach + other.reach


def are_near(rows):
    """Whether two of these numbers are so near that rounding may change their order."""
    rows = sorted((row for row in rows if math.isfinite(row.value)), key=lambda row: row.value)
    return any((one.reach or other.reach) and not are_apart(one, other) for one, other in zip(rows, rows[1:]))


def cross(some, others):
    """Whether a number of some is so near to one of others; time by time if there are as many."""
    if len(some) == len(others):
        pairs = zip(some, others)
    elif 1 in (len(some), len(others)):
        pairs = ((one, other) for one in some for other in others)
    else:
        return are_near(some + others)
    return any((one.reach or other.reach) and not are_apart(one, other) for one, other in pairs)
