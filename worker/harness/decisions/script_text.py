"""Finds in a script's text where Python decides by numbers that were taken out of tensors.

`script_numbers.py` loads it. Names count wherever they stand: two functions with one local name share it.
"""

import ast

# A call of these takes numbers out, if its argument is a tensor.
TAKES_OUT, CONVERTS = {"item", "tolist"}, {"float", "int", "bool"}
ORDERED = (ast.Lt, ast.Gt, ast.LtE, ast.GtE)
EQUAL = (ast.Eq, ast.NotEq)
FILLS = {"append", "extend", "add", "insert", "setdefault", "update", "appendleft"}
# With a key, or with more than numbers in a row, they choose by numbers.
CHOOSES = {"min", "max", "sorted", "sort", "nlargest", "nsmallest"}
# They always do; and these tell numbers apart.
PLACES = {"index", "bisect", "bisect_left", "bisect_right", "insort", "argmin", "argmax"}
DISTINCT = {"set", "frozenset", "Counter"}
ROWS = {"zip", "enumerate", "items"}
WHOLE = {"int": 0.0, "floor": 0.0, "ceil": 0.0, "trunc": 0.0, "round": 0.5}
# They give numbers as they get them.
PASS_ON = {"float", "min", "max", "sorted", "list"}
# They only tell of a comparison.
REPORTS = (ast.Raise, ast.Assert, ast.Pass)
MOST_ROUNDS, MOST_DEPTH = 8, 8


def name_of(node):
    """The last name of a function or of what an assignment writes to; empty if it has none."""
    while isinstance(node, (ast.Subscript, ast.Starred)):
        node = node.value
    return getattr(node, "attr", getattr(node, "id", ""))


class Decision:
    """A place where Python decides. `kind` is "near", "whole" or "order".

    `sides` has the two expressions that are held against each other, or the one that is rounded or ordered.
    `shift`: where between whole numbers a step lies.
    """

    def __init__(self, kind, line, sides, shift=0.0):
        self.kind, self.line, self.sides, self.shift = kind, line, sides, shift


class Text:
    """A script's text. `is_read(call)` says whether a call took numbers out of tensors."""

    def __init__(self, source, is_read):
        self.tree, self.is_read = ast.parse(source), is_read
        self.nodes = list(ast.walk(self.tree))
        self.parents = {id(child): node for node in self.nodes for child in ast.iter_child_nodes(node)}
        # By name: the expressions that it stands for, and the calls that its numbers come from.
        self.values, self.origins = {}, {}
        # Names that also change in another way than by an assignment.
        self.changed = set()
        self.functions = {each.name: each for each in self.nodes if isinstance(each, ast.FunctionDef)}
        for node in self.nodes:
            self.bind(node)
        for _ in range(MOST_ROUNDS):
            before = sum(map(len, self.origins.values()))
            for name, values in self.values.items():
                calls = self.origins.setdefault(name, {})
                for value in values:
                    calls.update(self.origins_of(value))
            if sum(map(len, self.origins.values())) == before:
                break

    def bind(self, node):
        """Note what a statement or a call writes to a name."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.assign(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            self.assign(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            self.change(node.target, node.value)
        elif isinstance(node, (ast.For, ast.comprehension)):
            self.change(node.target, node.iter)
        elif isinstance(node, ast.Return) and node.value is not None:
            function = self.function_of(node)
            self.values.setdefault("return " + function, []).append(node.value)
        elif isinstance(node, ast.Call):
            self.bind_call(node)

    def bind_call(self, node):
        """Note what flows into a container, or into the parameters of a function of the script."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in FILLS:
            for value in node.args:
                self.change(node.func.value, value)
        function = self.functions.get(name_of(node.func))
        for parameter, value in zip(function.args.args if function else (), node.args):
            self.values.setdefault(parameter.arg, []).append(value)
            self.changed.add(parameter.arg)

    def function_of(self, node):
        """The name of the function that a statement is in."""
        while id(node) in self.parents:
            node = self.parents[id(node)]
            if isinstance(node, ast.FunctionDef):
                return node.name
        return ""

    def assign(self, target, value):
        """Note an assignment. One to several names, or to a part of something, is a change of each."""
        if isinstance(target, (ast.Tuple, ast.List)):
            values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            if len(values) == len(target.elts):
                for one, other in zip(target.elts, values):
                    self.assign(one, other)
                return
        if isinstance(target, ast.Name):
            self.values.setdefault(target.id, []).append(value)
        else:
            self.change(target, value)

    def change(self, target, value):
        """Note that the value flows into what a target names."""
        for each in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            self.values.setdefault(name_of(each), []).append(value)
            self.changed.add(name_of(each))

    def origins_of(self, value):
        """The calls that took out the numbers in an expression, by their ids."""
        calls = {}
        for node in ast.walk(value):
            if isinstance(node, ast.Call):
                if self.is_read(node):
                    calls[id(node)] = node
                calls.update(self.origins.get("return " + name_of(node.func), {}))
            elif isinstance(node, (ast.Name, ast.Attribute)):
                calls.update(self.origins.get(name_of(node), {}))
        return calls

    def resolve(self, node, depth=0):
        """The expression that a name stands for, if there is one only."""
        values = self.values.get(node.id, []) if isinstance(node, ast.Name) else []
        if len(values) == 1 and node.id not in self.changed and depth < MOST_DEPTH:
            return self.resolve(values[0], depth + 1)
        return node

    def is_simple(self, node, depth=0):
        """Whether an expression gives numbers as they were taken out: nothing was computed with them."""
        if depth > MOST_DEPTH:
            return False
        parts = [] if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.Call):
            is_read = self.is_read(node)
            parts = [] if is_read else node.args if name_of(node.func) in PASS_ON else None
        elif isinstance(node, (ast.List, ast.Tuple)):
            parts = node.elts
        elif isinstance(node, (ast.UnaryOp, ast.Subscript)):
            parts = [node.operand if isinstance(node, ast.UnaryOp) else node.value]
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            parts = [node.elt]
        elif isinstance(node, (ast.Name, ast.Attribute)):
            parts = self.values.get(name_of(node), [])
        return parts is not None and all(self.is_simple(each, depth + 1) for each in parts)

    def decisions(self):
        """An iterator over the places where Python decides by numbers that were taken out."""
        for node in self.nodes:
            if isinstance(node, ast.Compare) and len(node.ops) == 1:
                sides = [node.left, node.comparators[0]]
                is_order = isinstance(node.ops[0], ORDERED)
                if is_order or (isinstance(node.ops[0], EQUAL) and not self.only_reports(node)):
                    yield Decision("near", node.lineno, sides)
            elif isinstance(node, ast.Compare) and all(isinstance(each, ORDERED) for each in node.ops):
                every = [node.left, *node.comparators]
                for sides in zip(every, every[1:]):
                    yield Decision("near", node.lineno, list(sides))
            elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.FloorDiv, ast.Mod)):
                if not isinstance(node.left, (ast.Constant, ast.JoinedStr)):
                    quotient = ast.BinOp(node.left, ast.Div(), node.right)
                    yield Decision("whole", node.lineno, [quotient])
            elif isinstance(node, ast.Call):
                yield from self.of_call(node)

    def of_call(self, node):
        """The decision of a call, if it may be one."""
        name = name_of(node.func)
        if name in WHOLE and len(node.args) == 1:
            # A conversion of a tensor takes the number out itself.
            yield Decision("whole", node.lineno, [node if self.is_read(node) else node.args[0]], WHOLE[name])
        keys = [each.value for each in node.keywords if each.arg == "key"]
        has_rows = any(name_of(each.func) in ROWS for each in ast.walk(node) if isinstance(each, ast.Call))
        has_rows = has_rows or any(isinstance(each, ast.Tuple) for each in ast.walk(node))
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        if (name in CHOOSES and (keys or has_rows)) or name in PLACES or name in DISTINCT:
            yield Decision("order", node.lineno, [*node.args, *keys, *owner])

    def only_reports(self, node):
        """Whether the script only tells whether two numbers are equal: that is what is asked."""
        while id(node) in self.parents:
            child, node = node, self.parents[id(node)]
            if isinstance(node, ast.If) and child is node.test:
                return all(map(is_report, [*node.body, *node.orelse]))
            if isinstance(node, ast.IfExp) and child is node.test:
                return isinstance(node.body, ast.Constant) and isinstance(node.orelse, ast.Constant)
            if isinstance(node, (ast.While, ast.comprehension)):
                return False
            if isinstance(node, ast.stmt):
                return True
        return True


def is_report(statement):
    """Whether a statement only tells something."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return name_of(statement.value.func) in {"print", "exit", "write", "info", "warning", "error"}
    return isinstance(statement, REPORTS)
