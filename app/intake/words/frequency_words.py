"""Words that say how often something happens. Every pattern is linear."""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.intake.words.vocabulary import FLAGS

_NUMBER = r"(?:\d+|one|two|three|four|five)"
# `run it several times`, `it may need a few tries`: one run may not show it.
_RUN = r"(?:re-?)?(?:run(?:ning)?|execut(?:e|ing)|start(?:ing)?|launch(?:ing)?|tr(?:y|ying))"
_AGAIN = (
    r"(?:more than (?:once|one time)|(?:several|multiple|many|a few|a couple of) (?:times|tries|runs)"
    r"|again and again|repeatedly|twice or more|until it)"
)
_RUNS = (
    rf"(?:may|might|could|need|needs|have to|had to|must|should|try|please|just|you|to) {_RUN}"
    rf"(?: (?:it|this|that|the (?:script|code|snippet|example|program|test|cell)|everything|them)){{0,2}}"
    rf" {_AGAIN}\b"
    r"|(?:one|a single) run (?:is|may be|might be) (?:usually |often )?not (?:be )?enough"
    r"|(?:takes?|needs?) (?:several|multiple|a few|a couple of|some|many) (?:tries|runs|attempts)"
)
# `It does not always fail`, `not every run shows it`.
_NOT_ALWAYS = (
    r"(?:(?:do|does|did|wo|is|are|was|were)n['’]t|not) always (?:fail|happen|occur|crash|show"
    r"|reproduc\w{1,4}|trigger|raise|hang"
    r"|(?:the )?same|agree|wrong|visible|there)\b|(?:don['’]t|do not|doesn['’]t|does not) always[.,;:!]"
    r"|(?:not|n['’]t) (?:happen|fail|occur|crash|reproduce|show) (?:up )?(?:on |in |at |with )?"
    r"(?:every|each) (?:time|run|try|attempt|execution)"
    r"|not (?:on |in |at )?every (?:run|execution|attempt|try) (?:fails|shows|crashes|is|does)"
    r"|(?:fails?|happens?|occurs?|crash(?:es)?|differs?|changes?) (?:only )?(?:from time to time"
    r"|every now and then|once in a while|non-?deterministically|at random|from run to run)"
)
_RUNS_ELSEWHERE = (
    r"(?:mehrmals|mehrfach|öfter|ein paar ?mal) (?:ausführen|starten|laufen lassen|probieren|versuchen)"
    r"|nicht bei jedem (?:lauf|versuch|start)"
    r"|(?:lancer|exécuter|relancer|essayer)(?: \w{1,10}){0,2} plusieurs fois|pas à chaque (?:fois|exécution)"
    r"|(?:ejecutar|correr|probar)(?:l[oa])?(?: \w{1,10}){0,2} varias veces"
    r"|(?:executar|rodar)(?: \w{1,10}){0,2} várias vezes"
    r"|(?:eseguir\w{0,4}|lanciar\w{0,4})(?: \w{1,10}){0,2} (?:più|diverse) volte"
    r"|(?:запустить|запускать)(?: \w{1,10}){0,2} несколько раз"
)
_NOT_ALWAYS_ELSEWHERE = (
    "manchmal|gelegentlich|nicht immer|ab und zu|hin und wieder|von zeit zu zeit|parfois|pas toujours"
    "|de temps en temps|a veces|no siempre|de vez en cuando|às vezes|nem sempre|de vez em quando|a volte"
    "|non sempre|di tanto in tanto|иногда|не всегда|время от времени"
)
_RUNS_IN_ASIA = r"不一定每次|多运行几次|多跑几次|何回か実行"
# In a title, each such word is about the bug.
_SOMETIMES = re.compile(
    r"\b(?:sometimes|occasionally|intermittent(?:ly)?|flaky|rarely|now and then|once in a while"
    r"|(?<!\.)random(?:ly)?(?![.(]| (?:seed|state|number|generator|forest))"
    r"|from time to time|not always|(?:is|does|do|are)n['’]t always|non-?deterministic(?:ally)?"
    r"|not deterministic"
    r"|(?:is|are)n['’]t deterministic"
    rf"|{_NUMBER}\s+(?:times\s+)?(?:in|out of)\s+(?:\d+|ten|five|every)"
    rf"|{_NUMBER}\s+of\s+(?:\d+|ten|five|twenty)\s+(?:runs|times|tries|attempts|draws)"
    rf"|\d+\s*%\s+of\s+(?:the\s+)?(?:time|runs)|{_RUNS}|{_NOT_ALWAYS}|{_RUNS_ELSEWHERE}|{_NOT_ALWAYS_ELSEWHERE})\b"
    rf"|有时|偶尔|并不总是|たまに|時々|毎回ではな|{_RUNS_IN_ASIA}",
    FLAGS,
)
# In the rest of a report, only words about runs are.
_OF_RUNS = re.compile(rf"\b(?:{_RUNS}|{_NOT_ALWAYS}|{_RUNS_ELSEWHERE})(?!\w)|{_RUNS_IN_ASIA}", FLAGS)
_MOST_LINE = 1_000
_MOST_LINES = 400


def says_sometimes(text: str) -> bool:
    """Whether a title or a claim says that it happens sometimes only."""
    return _SOMETIMES.search(text) is not None


def with_frequency(title: str, texts: Iterable[str]) -> str:
    """The title, and below it the words of the report that one run may not show the bug."""
    if says_sometimes(title):
        return title
    lines = [line[:_MOST_LINE] for text in texts for line in text.split("\n")][:_MOST_LINES]
    match = next((match for line in lines if (match := _OF_RUNS.search(line))), None)
    return title if match is None else f"{title}\n{match[0]}"
