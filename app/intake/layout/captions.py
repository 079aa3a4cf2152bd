"""Captions above outputs, such as `Output:`, `Expected result`, `Before:`, `Good (1.10)`."""

from __future__ import annotations

import re

from app.intake.words.vocabulary import ACTUAL, DESIRED, MODALS, RESULTS, RIGHT, SHOW, any_of

_MARKS = r"[\s*_:：>=/✅❌✔✗✘➡→\ufe0f-]{0,8}"
_RESULT = any_of(RESULTS)
_NOUNS = (
    r"(?:comportamento|comportamiento|resultado|salida|saída|comportement|résultat|sortie|risultato|uscita"
    r"|output|valor|valeur|valore)"
)
_SEEN = re.compile(
    rf"{_MARKS}(?:(?:and |but |now |here |still |currently |this ){{0,2}}(?:"
    r"(?:the |my |actual(?:ly)? |current |observed |real |wrong |printed |console |program |script "
    r"|seen |generated |produced |resulting |returned |obtained |full |complete |shortened ){0,3}"
    rf"{_RESULT}(?: (?:is|looks like(?: this)?|was|of (?:the|this) (?:script|code|program)))?"
    rf"|{any_of(ACTUAL)}|stdout|printed|wrong|incorrect|bad"
    r"|(?:what )?(?:i|we|you) (?:actually )?(?:see|get|got|saw)(?: is)?(?: this)?"
    r"|what (?:it|is|the (?:script|code|program)) (?:actually )?(?:prints?|printed|returns?|gives?"
    r"|shows?|seen|shown)|(?:(?:it|this|that|which|and|the (?:script|code|program)) )?(?:prints?"
    rf"|gives?|outputs?|shows?|returns?)(?: me| this)?|what happens|(?:heraus )?kommt(?: heraus)?"
    rf"|ausgabe|ergebnis|(?:la )?sortie|résultat|salida|resultado"
    rf")|{_NOUNS} (?:atual|actual|obtid[oa]|obtenid[oa]|real|observad[oa]|obtenue?|réel(?:le)?|actuel(?:le)?"
    r"|ottenut[oa]|attuale)"
    r"|(?:фактический |полученный |текущий )?(?:вывод|результат)|фактическое поведение|получаю"
    r"|(?:rzeczywisty |otrzymany |aktualny )?wynik|(?:huidig|werkelijk)e? (?:resultaat|gedrag|uitvoer)"
    r"|(?:실제|현재) ?(?:결과|출력|동작)|출력|결과|現在の(?:動作|挙動)|実際の(?:動作|挙動)"
    r"|kết quả(?: thực tế)?|(?:faktisk|aktuell)\w{0,2} (?:resultat|output|oppførsel|opførsel|beteende)"
    r"|(?:skutečný|aktuální) (?:výsledek|výstup)|tényleges \w{1,12}|hasil(?: sebenarnya| aktual)?"
    r"|mevcut \w{1,12}"
    rf"|实际(?:的)?(?:输出|结果|行为)|輸出|输出|結果|结果|出力|実際の(?:出力|結果)){_MARKS}",
    re.IGNORECASE,
)
_EXPECTED = re.compile(
    rf"{_MARKS}(?:(?:the |my )?{any_of(DESIRED, RIGHT)}(?: {_RESULT})?"
    r"|(?:but )?(?:what )?(?:(?:i|we) (?:would )?|i['’]d )(?:expect(?:ed)?|want(?:ed)?)(?: is)?"
    rf"|(?:(?:it|this|which|what it) )?{any_of(MODALS)} {any_of(SHOW)}"
    r"|(?:and )?(?:instead of|rather than|in place of|and not|but not)(?: this| the expected)?"
    # Half of it may be in English words by now.
    rf"|{_NOUNS} (?:expected|esperad[oa]|attendue?|attes[oa]|previst[oa]|desiderat[oa]|dese[aj]?ad[oa])"
    r"|(?:oczekiwan|spodziewan)\w{1,3}(?: \w{1,12})?|verwacht\w{0,2}(?: \w{1,12})?|beklenen(?: \w{1,12})?"
    r"|kết quả mong (?:đợi|muốn)|(?:forventet|förväntat|förväntad)(?: \w{1,12})?"
    r"|očekávaný(?: \w{1,12})?"
    r"|(?:elvárt|várt) \w{1,12}|hasil yang diharapkan"
    r"|(?:예상|기대)(?:하는|되는|된|한)? ?(?:결과|출력|동작|값)|期待(?:する|される)(?:動作|挙動|結果|出力)"
    r"|erwartet(?:e ausgabe|es ergebnis|es verhalten)?|attendu|sortie attendue|esperado|salida esperada"
    r"|ожидается|(?:ожидаем|очікуван)\w{1,3}(?: \w+)?"
    rf"|(?:期望|预期|期待)(?:的|される)?(?:输出|结果|出力|結果)?){_MARKS}",
    re.IGNORECASE,
)
_MOST_WORDS = 6
_ENGLISH = re.compile(r"\b(?:outputs?|results?|actual\w*|current\w*|observed|behaviou?r)\b", re.IGNORECASE)
_OLDER = re.compile(
    r"\W*(?:the )?(?:before|old|older|previous(?:ly)?|earlier|good|working|formerly)\b[^\n]{0,80}",
    re.IGNORECASE,
)
_NEWER = re.compile(
    r"\W*(?:the )?(?:after|new|newer|now|current(?:ly)?|bad|broken|wrong|regress\w*|today)\b[^\n]{0,80}",
    re.IGNORECASE,
)
# `Before:` and `After:` alone may be about the script's own steps.
_OF_STEPS = re.compile(r"\W*(?:before|after|now|current(?:ly)?)\W*", re.IGNORECASE)


def is_seen_caption(text: str) -> bool:
    """True if a line is nothing but a caption of what a script prints, such as `Output:`."""
    return _SEEN.fullmatch(text) is not None


def is_expected_caption(text: str) -> bool:
    """True if a line is nothing but a caption of what is right, such as `Expected output:`."""
    return _EXPECTED.fullmatch(text) is not None


def is_foreign_caption(text: str) -> bool:
    """True if no English word of a caption tells its side."""
    return _ENGLISH.search(text) is None


def is_older_caption(text: str) -> bool:
    """True if a caption speaks of a state that was good, such as `Old behaviour (1.5)`."""
    return len(text.split()) <= _MOST_WORDS and _OLDER.fullmatch(text.strip()) is not None


def is_newer_caption(text: str) -> bool:
    """True if a caption speaks of the state of now, such as `New behaviour (2.0)`."""
    return len(text.split()) <= _MOST_WORDS and _NEWER.fullmatch(text.strip()) is not None


def may_be_of_steps(text: str) -> bool:
    """True if a caption such as `Before:` names nothing but a time."""
    return _OF_STEPS.fullmatch(text.strip()) is not None
