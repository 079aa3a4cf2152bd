"""Names are nouns and verbs, and sentences open with their subject: rules for words that no linter knows."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from conventions.source_trees import ROOT, modules_of, named, nodes_of, source_of, tree_of

# A participle or an adverb says neither what a value is nor what a function does.
PARTICIPLES = frozenset(
    [
        "asked",
        "compared",
        "counted",
        "done",
        "drawn",
        "found",
        "given",
        "held",
        "judged",
        "kept",
        "known",
        "made",
        "merged",
        "planned",
        "printed",
        "recorded",
        "said",
        "seen",
        "shown",
        "sorted",
        "taken",
        "told",
        "used",
        "wanted",
        "watched",
        "withdrawn",
        "written",
    ]
)
ADVERBS = frozenset(
    ["again", "afterwards", "already", "anew", "ever", "lately", "later", "now", "often", "once", "soon"]
)
# For a variable these are the private dialect that this code once had; others, such as `known`, are in
# common use.
NO_VARIABLES = frozenset(["asked", "found", "held", "kept", "made", "said", "shown", "told", "wanted"])
# They end like participles and are none.
NOUNS_IN_ED = frozenset(["embed", "feed", "need", "seed", "reseed", "speed"])
# Names that others rely on: fields of JSON and what the libraries call.
CONTRACT_NAMES: frozenset[str] = frozenset({"now", "embedded", "shared"})
# Fields and messages of JSON contracts, by module.
CONTRACT_FIELDS = {
    "app/runs/exchange/bundle.py": {"said"},
    "worker/contract/__init__.py": {"Refused", "Started"},
    "worker/contract/trace.py": {"asked"},
    "worker/sandbox/doctor.py": {"found"},
}
QUESTION_WORDS = ("What", "Who", "Whom", "Whose", "Which", "How", "When", "Where", "Whether", "Why")


def is_bare(name: str) -> bool:
    """Whether a name is one participle or one adverb and nothing else."""
    word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).strip("_").lower()
    if word in CONTRACT_NAMES:
        return False
    return word in PARTICIPLES | ADVERBS or bool(re.fullmatch(r"[a-z]+ed", word) and word not in NOUNS_IN_ED)


def bare_definitions(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Classes and functions that are named by a bare participle or adverb. Properties are named like
    values.
    """
    for node in nodes:
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and any(
            isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list
        ):
            continue
        if (is_function or isinstance(node, ast.ClassDef)) and is_bare(node.name):
            yield node.name


def bare_variables(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Variables and parameters that are named by a word of NO_VARIABLES."""
    for node in nodes:
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and node.id.strip("_") in NO_VARIABLES
        ):
            yield node.id
        elif isinstance(node, ast.arg) and node.arg.strip("_") in NO_VARIABLES:
            yield node.arg


def without_fields(tree: ast.Module, names: set[str]) -> Iterator[ast.AST]:
    """The nodes of a module but the annotated class fields of these names. The tree loses them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            node.body = [
                each
                for each in node.body
                if not (
                    isinstance(each, ast.AnnAssign)
                    and isinstance(each.target, ast.Name)
                    and each.target.id in names
                )
            ]
    return ast.walk(tree)


def comments(source: str) -> Iterator[str]:
    """The comments of a module; lines that follow each other are one."""
    block: list[str] = []
    last_line = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last_line + 1 and block:
            yield " ".join(block)
            block = []
        block.append(token.string.lstrip("#: "))
        last_line = token.start[0]
    if block:
        yield " ".join(block)


def docstrings(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The docstrings of a module and of all that it defines."""
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def messages(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The texts in the code: constants of several words."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") > 1:
            yield node.value


def prose_of_markdown(text: str) -> Iterator[str]:
    """Paragraphs, list items and cells of tables, without code."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n|\n\s*[-*] |\n\d+\. |\|", text):
        yield block.strip(" \n#*-")


def prose_of_template(text: str) -> Iterator[str]:
    """The texts between tags and Jinja's blocks."""
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}", "\0", text, flags=re.DOTALL)
    text = re.sub(r"\{\{.*?\}\}", "X", text, flags=re.DOTALL)
    yield from (piece.strip() for piece in re.split(r"<[^>]*>|\0", text))


def bad_sentences(text: str) -> Iterator[str]:
    """Sentences that open with "Of" or with a "What" that asks nothing, and words of the dialect."""
    flat = re.sub(r"\s+", " ", text)
    for match in re.finditer(r"(?:^|[.!?:] )((?:Of|What|Who) [^.?!]*[.?!]?)", flat):
        if not match[1].endswith("?"):
            yield match[1]
    for match in re.finditer(r"\b(?:anew|as told|as kept)\b", flat):
        yield match[0]


def modules() -> list[Path]:
    return modules_of("app", "worker", "samehere_client")


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def bad_names(path: Path) -> Iterator[str]:
    """The name of a module, and the names in it, that break a rule."""
    if is_bare(path.stem) or path.stem.rpartition("_")[2] in PARTICIPLES | ADVERBS:
        yield path.stem
    contracts = CONTRACT_FIELDS.get(named(path), set())
    nodes = without_fields(ast.parse(source_of(path)), contracts) if contracts else nodes_of(path)
    yield from sorted({*(set(bare_definitions(nodes_of(path))) - contracts), *bare_variables(nodes)})


def texts_of(path: Path) -> Iterator[str]:
    """All that a module says in words."""
    yield from comments(source_of(path))
    yield from docstrings(nodes_of(path))
    yield from messages(nodes_of(path))


def test_names_are_nouns_and_verbs() -> None:
    assert [f"{named(path)}: {name}" for path in modules() for name in bad_names(path)] == []


def test_sentences_in_code_open_with_their_subject() -> None:
    assert [
        f"{named(path)}: {bad}"
        for path in modules()
        for text in texts_of(path)
        for bad in bad_sentences(text)
    ] == []
    questions = (
        named(path)
        for path in modules()
        if (ast.get_docstring(tree_of(path)) or "").startswith(QUESTION_WORDS)
    )
    assert list(questions) == []


def test_sentences_on_pages_of_the_docs_open_with_their_subject() -> None:
    assert [
        f"{named(path)}: {bad}"
        for path in pages()
        for text in prose_of_markdown(path.read_text())
        for bad in bad_sentences(text)
    ] == []


def test_sentences_of_templates_open_with_their_subject() -> None:
    templates = sorted((ROOT / "app" / "web" / "templates").rglob("*.html"))
    assert templates
    assert [
        f"{named(path)}: {bad}"
        for path in templates
        for text in prose_of_template(path.read_text())
        for bad in bad_sentences(text)
    ] == []


@pytest.mark.parametrize("name", ["Told", "_made", "again", "compared", "Watched", "kept"])
def test_a_bare_name_is_seen(name: str) -> None:
    assert is_bare(name)


@pytest.mark.parametrize("name", ["seed", "stored_rows", "is_reached", "EmbeddedPostgres", "read", "now"])
def test_a_name_that_says_something_passes(name: str) -> None:
    assert not is_bare(name)


def test_the_rules_for_names_can_fail() -> None:
    tree = ast.parse(
        "class Told: pass\ndef again(): pass\nmade = 1\ndef start(kept): pass\nfor found in (): pass"
    )
    assert sorted({*bare_definitions(ast.walk(tree)), *bare_variables(ast.walk(tree))}) == [
        "Told",
        "again",
        "found",
        "kept",
        "made",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Of a run: its jobs.",
        "Right. What was made lately, kept.",
        "What is\nshown.",
        "The rows are made anew.",
        "Note: Of those, none.",
    ],
)
def test_the_rules_for_sentences_can_fail(text: str) -> None:
    assert list(bad_sentences(text))


@pytest.mark.parametrize(
    "text", ["What does it print? It prints 1.", "The rows of a run.", "Often it fails."]
)
def test_a_plain_sentence_passes(text: str) -> None:
    assert list(bad_sentences(text)) == []


def test_a_contract_exempts_its_field_only() -> None:
    tree = ast.parse("class Trace:\n    asked: int = 1\n\nasked = 2\n")
    assert list(bare_variables(without_fields(tree, {"asked"}))) == ["asked"]
    tree = ast.parse("class Trace:\n    asked: int = 1\n")
    assert list(bare_variables(without_fields(tree, {"asked"}))) == []


def test_comments_docstrings_and_templates_are_read() -> None:
    source = '"""Of a."""\n# What is\n# kept.\n\nx = 1  # Of it.\n'
    assert list(comments(source)) == ["What is kept.", "Of it."]
    assert list(docstrings(ast.walk(ast.parse(source)))) == ["Of a."]
    assert "Of these, X." in list(prose_of_template("<p>Of these, {{ x }}.</p>{# Of #}"))
    assert "What is kept." in list(prose_of_markdown("Right.\n\n- What is kept.\n```\nOf\n```\n"))
