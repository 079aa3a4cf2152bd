"""Cuts a report that was pasted together with the comments below it: other people's words are no claim."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_NAME = (
    r"@?(?!我|私|僕|以下|(?:i|we|you|he|she|it|they|who|this|that|someone|somebody|me|ich|wir|er|sie|es|je|on|yo)\b)"
    r"[\w.-]{1,39}"
)
_WROTE = (
    r"(?:commented|wrote|replied|answered|responded|schrieb|kommentierte|antwortete|hat geschrieben"
    r"|a (?:écrit|répondu|commenté)|escribió|respondió|comentó|escreveu|respondeu|comentou|ha scritto"
    r"|написал\w?|ответил\w?)"
)
_COMMENT_BY = (
    r"(?:(?:first|second|next|another|\d{1,3}(?:st|nd|rd|th)) )?(?:comment|reply|answer|response|follow-?up"
    r"|kommentar|antwort|commentaire|réponse|comentario|respuesta|comentário|resposta|commento|risposta"
    r"|комментарий|ответ)(?: #?\d{1,3})? (?:by|from|of|von|de|do|da|di|от)"
)
_SIGNS = r"[\s*_>#=\[-]{0,8}"
_END = r"(?: (?:on|am|le|el|at) [\w ,.:-]{1,40}| [\w ]{1,20} ago)?"
_LINE = re.compile(
    rf"{_SIGNS}(?:"
    # `**amj** commented:`, `amj wrote on Jan 3:`. A mark or a colon must show that it heads a comment.
    rf"(?P<bold>\*\*|__){_NAME}(?P=bold) {_WROTE}{_END}|{_NAME} {_WROTE}{_END}(?=[*_\s]{{0,4}}:)"
    # `Kommentar von jmg:`, `Comment by @jmg:`.
    rf"|{_COMMENT_BY} {_NAME}(?: [\w.-]{{1,30}})?{_END}(?=[*_\s\])]{{0,4}}(?::|$))"
    # `用户 abc 回复：`, `abc 的评论：`, `abc さんのコメント:`.
    rf"|(?:用户 ?|来自 ?)?{_NAME} ?(?:的|さんの|在)?[^\n:：]{{0,20}}?"
    r"(?:回复|回覆|评论|評論|答复|コメント|返信)(?:道|说|了)?(?=[ *_]{0,4}[:：])"
    r")[\s*_:：)\]-]{0,8}$",
    re.IGNORECASE,
)
# A line that introduces a comment holds one of these, in lower case. Few texts do.
_STEMS = (
    *("comment", "comentó", "comentou", "comentari", "comentári", "komment", "комментар", "wrote", "repl"),
    *("answer", "respon", "répon", "respos"),
    *("follow", "antwort", "geantwortet", "schrieb", "écrit", "escribi", "respuest", "escrev", "scritto"),
    *("rispost", "написал", "ответ", "回复", "回覆", "评论", "評論", "答复", "コメント", "返信"),
)
_MOST_LINE = 160


def follow_up_places(text: str) -> Iterator[int]:
    """The positions of the lines outside of fences that introduce a comment of somebody else."""
    fence, place = "", 0
    small = text.lower()
    if not any(stem in small for stem in _STEMS):
        return
    for line in text.split("\n"):
        match = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence):
            fence = ""
        elif not fence and place and len(line) <= _MOST_LINE and _LINE.match(line):
            yield place
        place += len(line) + 1
