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
    r"|(?:not|(?:do|does|did)n['’]t) (?:happen|fail|occur|crash|reproduce|show) (?:up )?(?:on |in |at "
    r"|with )?"
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
# In a sentence about the script, a run or what happens, such words say how often it happens.
_HOW_OFTEN = (
    r"(?:sometimes|occasionally|intermittently|sporadically|randomly|at random|rarely|seldom|now and then"
    r"|from time to time|once in a while|every now and then|every so often)"
)
_HAPPENS = (
    r"(?:works?|fails?|pass(?:es)?|succeeds?|happens?|occurs?|crash(?:es)?|hangs?|raises?|throws?|breaks?"
    r"|segfaults?|goes (?:wrong|through)|runs (?:fine|through)|shows? up|appears?|reproduces?|triggers?"
    r"|differs?"
    r"|is (?:wrong|right|correct|fine|ok|missing|lost|nan|there))"
)
_IT = (
    r"(?:it|this|that|the (?:script|code|program|snippet|test|example|call|error|bug|problem|issue|crash"
    r"|result"
    r"|value|output|assertion|last \w{1,12}|same \w{1,12}))"
)
_COUNT = (
    r"(?:\d{1,5}|one|two|three|four|five|six|seven|eight|nine|ten|twenty|fifty|(?:a )?hundred"
    r"|(?:a )?thousand)"
)
_TRIALS = r"(?:runs?|times|tries|attempts|starts|executions|trials|invocations|launches)"
_SHARE = (
    rf"{_COUNT} (?:run|time|try|attempt|start|execution|trial) (?:in|out of|of) (?:every )?{_COUNT}"
    rf"|{_COUNT} (?:in|of|out of) (?:every |about |the |my )?{_COUNT} {_TRIALS}"
    rf"|(?:in|on|for) (?:about |roughly |around |some |a few |most |half |half of "
    rf"|many )?(?:of )?(?:the |my )?"
    rf"(?:{_COUNT} )?(?:out of |of )(?:the |my )?{_COUNT} {_TRIALS}"
    rf"|out of {_COUNT} {_TRIALS},? {_COUNT}"
    rf"|(?:in|on) (?:about |roughly |around )?(?:some|a few|half|half of|many|most|one third|a third"
    rf"|a quarter)"
    rf"(?: of)?(?: the| my)? {_TRIALS}"
    rf"|\d{{1,2}} ?% of (?:the |my |all )?(?:time|{_TRIALS})|every (?:second|third|fourth|fifth|tenth|other) "
    r"(?:run|time|try|attempt|start|execution)|half (?:of )?the time|most of the time"
)
_OF_FAILURES = (
    rf"{_IT} (?:only |just |then |also )?{_HOW_OFTEN} {_HAPPENS}|{_HAPPENS} (?:only |just "
    rf"|quite )?{_HOW_OFTEN}"
    rf"|{_HOW_OFTEN},? {_IT} (?:\w{{1,12}} )?(?:{_HAPPENS}|is|gives|prints|returns|shows)"
    rf"|(?:but |and |or |, ){_HOW_OFTEN} (?:{_HAPPENS}|not)"
    r"|(?<!not )(?<!n['’]t )(?:is|are|was|be|seems?|looks?) (?:very |quite |rather |a bit )?(?:flaky"
    r"|non-?deterministic"
    r"|intermittent|sporadic|not deterministic|racy)"
    rf"|{_SHARE}"
    r"|(?:run|start|try|launch|execute)(?: it| this| the \w{1,12})? again(?:,| and)?(?: it| this)?"
    r" (?:may|might|can|could)(?: well| very well| also)? (?:pass|work|succeed|fail|differ|be)"
    rf"|(?:takes?|took|needs?|needed) (?:about |around |roughly |some |up to )?(?:{_COUNT}|several|a few"
    rf"|many) {_TRIALS}"
    r"|sporadic(?:ally)? (?:failures?|errors?|crash(?:es)?)|race condition"
)
_OF_FAILURES_ELSEWHERE = (
    r"(?:etwa |ungefähr )?(?:jede[rsn]? (?:zweite|dritte|vierte|fünfte|zehnte|\d{1,3}\.)[rsn]? (?:lauf"
    r"|mal|versuch|start))"
    r"|in \d{1,3} von \d{1,4} (?:läufen|fällen|versuchen)|sporadisch|nicht deterministisch"
    r"|(?:une|\d{1,3}) fois sur (?:deux|trois|cinq|dix|vingt|\d{1,4})|par intermittence|aléatoirement"
    r"|un[ao]? de cada (?:dos|tres|cinco|diez|\d{1,4})|de forma intermitente|aleatoriamente"
    r"|uma (?:em|a) cada (?:duas|três|cinco|dez|\d{1,4})|una volta su (?:due|cinque|dieci|\d{1,4})"
    r"|(?:примерно )?(?:в )?(?:каждом|один раз из) (?:втором|третьем|пятом|десяти|\d{1,4})|нестабильно"
    r"|в половине запусков"
)
_OF_FAILURES_IN_ASIA = (
    r"有时候?(?:会|能|失败|成功|报错|正常)|偶尔|偶发|时好时坏|结果不稳定|不是每次"
    r"|たまに|時々|ときどき|毎回ではな"
)
# In a title, each such word is about the bug.
_SOMETIMES = re.compile(
    r"\b(?:sometimes|occasionally|intermittent(?:ly)?|flaky|rarely|now and then|once in a while"
    r"|(?<!\.)random(?:ly)?(?![.(]| (?:seed|state|number|generator|forest))"
    r"|from time to time|not always|(?:is|does|do|are)n['’]t always|non-?deterministic(?:ally)?"
    r"|not deterministic"
    r"|(?:is|are)n['’]t deterministic"
    rf"|{_NUMBER}\s+(?:times\s+)?(?:in|out of)\s+(?:\d+|ten|five|every)"
    rf"|{_NUMBER}\s+of\s+(?:\d+|ten|five|twenty)\s+(?:runs|times|tries|attempts|draws)"
    rf"|\d+\s*%\s+of\s+(?:the\s+)?(?:time|runs)|{_RUNS}|{_NOT_ALWAYS}|{_RUNS_ELSEWHERE}"
    rf"|{_NOT_ALWAYS_ELSEWHERE}|{_OF_FAILURES}"
    # `stays within 0 and 1 in 1.22` is about a version.
    rf"|{_OF_FAILURES_ELSEWHERE})(?!\w|\.\d)|有时|并不总是|{_RUNS_IN_ASIA}|{_OF_FAILURES_IN_ASIA}",
    FLAGS,
)
# In the rest of a report, only words about runs are.
_OF_RUNS = re.compile(
    rf"\b(?:{_RUNS}|{_NOT_ALWAYS}|{_RUNS_ELSEWHERE}|{_OF_FAILURES}|{_OF_FAILURES_ELSEWHERE})(?!\w)"
    rf"|{_RUNS_IN_ASIA}|{_OF_FAILURES_IN_ASIA}",
    FLAGS,
)
# `It never happens`, `a user sometimes`: no word about how often it happens.
_NOT_OFTEN = re.compile(
    r"\b(?:not|never|no longer|n['’]t|without|if|whether|is it|no)\s(?:\w{1,12}\s){0,2}$", FLAGS
)

_MOST_LINE = 1_000
_MOST_BEFORE = 40
_MOST_LINES = 400


def says_sometimes(text: str) -> bool:
    """Whether a title or a claim says that it happens sometimes only."""
    return _SOMETIMES.search(text) is not None


def with_frequency(title: str, texts: Iterable[str]) -> str:
    """The title, and below it the words of the report that one run may not show the bug."""
    if says_sometimes(title):
        return title
    lines = [line[:_MOST_LINE] for text in texts for line in text.split("\n")][:_MOST_LINES]
    match = next(
        (match for line in lines if (match := _OF_RUNS.search(line)) and not _is_denied(match)), None
    )
    return title if match is None else f"{title}\n{match[0]}"


def _is_denied(match: re.Match[str]) -> bool:
    return _NOT_OFTEN.search(match.string, max(0, match.start() - _MOST_BEFORE), match.start()) is not None
