"""The words of claims in other languages, each with its English one. Rules read prose after `in_english`.

A word that is also an English one is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.intake.memory import remembers
from app.intake.words.keyed_pattern import key_set, words_of
from app.intake.words.phrases_by_language import Replacement, has_phrases, replacements_of
from app.intake.words.signs import has_signs, in_english_signs

# A caption: nothing follows it on its line.
_ENDS = r"(?=[:\s]*(?:$|[`:]))"
_SEEN_IN_SPANISH = r"(?:obt(?:en)?id[oa]|real|actual|atual|observad[oa])"
# English words, and the patterns that stand for them, language by language.
_WORDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "instead of",
        (
            r"(?:an)?statt(?: dessen)?(?= [`\d\[(-])|anstelle von",
            r"au lieu d(?:e|['’])",
            r"en (?:lugar|vez) de|em vez de|ao invés de",
            r"invece di|al posto di",
            r"вместо",
        ),
    ),
    (
        "should work",
        (
            r"(?:müssten?|sollten?|muss|müssen|soll|sollen)(?: \w{1,12}){0,2} (?:funktionieren|laufen|gehen)",
            r"(?:devrait|doit) (?:marcher|fonctionner|passer)",
            r"(?:debería|debe|deveria|deve)n? (?:funcionar|ejecutarse|correr|rodar)",
            r"dovrebbe (?:funzionare|girare)",
            r"(?:должен|должна|должно|должны) (?:работать|выполняться|запускаться)",
        ),
    ),
    (
        "should be",
        (
            r"(?:müsste|sollte|muss|soll)(?:n)?(?: eigentlich| aber)?(?: es)?(?: \w{1,12})?(?= [`\d\[(-])",
            r"(?:devrait|doit)(?: être| afficher| donner| renvoyer)?",
            r"(?:debería|debe|deveria|deve)(?: ser| dar| imprimir| devolver| mostrar)?",
            r"dovrebbe(?: essere| stampare)?",
            r"должно быть|должен быть",
        ),
    ),
    (
        "I expected",
        (
            r"(?:ich )?(?:hätte|habe)(?: ich)?(?= [^.\n]{1,60} erwartet)|ich erwarte",
            r"erwartet (?:hätte|habe) ich",
            r"j['’](?:attendais|attends)|on (?:attend|attendait)",
            r"(?:yo )?(?:espero|esperaba)|se esper[ao](?:ba)?|eu esperava",
            r"mi aspett(?:o|avo)",
            r"ожидал(?:ось|ся|а)?|ожидается",
        ),
    ),
    (
        "is expected",
        (
            r"(?:wird|ist|wäre) erwartet|erwartet (?:wird|ist|wäre|wurde)",
            r"est attendue?",
            r"(?:es|era|é) (?:lo )?esperad[oa]",
            r"è attes[oa]",
        ),
    ),
    (
        "while",
        (
            r"während",
            r"alors qu(?:e|['’])|tandis qu(?:e|['’])",
            r"mientras que|enquanto",
            r"mentre",
            r"тогда как",
        ),
    ),
    (
        "Expected",
        (
            r"erwartet(?:e|es)?(?: (?:ausgabe|ergebnis|verhalten))?",
            r"(?:résultat |sortie |comportement )?attendue?s?(?! [a-z])",
            r"(?:resultado |salida |saída )?esperad[oa]",
            r"(?:risultato )?attes[oa]",
        ),
    ),
    (
        "correct is",
        (
            r"richtig (?:wäre|ist)|korrekt (?:wäre|ist)",
            r"le (?:bon|vrai) (?:résultat|chiffre) est",
            r"lo correcto (?:es|sería)|o correto (?:é|seria)",
        ),
    ),
    (
        "differs from run to run",
        (
            r"(?:bei )?jede[ms]? (?:mal|start|lauf|aufruf|durchlauf)(?: \w{1,12}){0,3} ander(?:s|e[snrm]?)",
            r"von (?:lauf zu lauf|mal zu mal)",
            r"(?:change|varie|diffère) (?:à chaque|d['’]une) (?:exécution|fois|lancement|appel)",
            r"à chaque (?:exécution|fois|lancement)(?: \w{1,12}){0,3} (?:différente?s?|autres?)",
            r"(?:cambia|varía|muda|varia) (?:en|con|a|de|ad) (?:cada|una|ogni) (?:ejecución|vez|execução)",
            r"cambia (?:a|ad) ogni (?:esecuzione|avvio)",
            r"(?:en )?cada (?:vez|ejecución|execução)(?: \w{1,12}){0,3} (?:distint[oa]|otr[oa]|diferente)s?",
            r"(?:при каждом запуске|каждый раз)(?: \w{1,14}){0,3} (?:друг\w{1,5}|разн\w{1,5}|по-разному)",
            r"от запуска к запуску",
        ),
    ),
    (
        "wrong",
        (
            r"falsch(?:e[rns]?)?",
            r"fausse?s?|erronée?s?|incorrecte",
            r"incorrecto|errado|equivocado",
            r"sbagliato",
        ),
    ),
    (
        "Output",
        (
            rf"(?:die |das )?(?:(?:tatsächlich|erhalten)e[sr]? )?(?:ausgabe|ergebnis|verhalten){_ENDS}",
            rf"(?:la |le )?(?:sortie|résultat)(?: (?:obtenue?|réelle?|actuelle?|observée?))?{_ENDS}",
            rf"(?:la |el |o |a )?(?:salida|resultado|saída)(?: {_SEEN_IN_SPANISH})?{_ENDS}",
            rf"(?:il )?risultato(?: (?:ottenuto|reale|attuale))?{_ENDS}",
            rf"вывод{_ENDS}",
        ),
    ),
    (
        "prints",
        (
            r"(?:es |er )?(?:druckt|liefert|ergibt|gibt)(?: (?:es|man))?(?: aus)?(?=[ :]{1,2}[`\d\[(-])",
            r"(?:drucken|liefern|ergeben|geben|gibt|liefert)(?=[ :]{1,2}(?:[`\d\[(-]|(?:True|False|None)\b))",
            r"(?:es )?kommt(?=[ :]{1,2}[`\d\[(-])|ausgegeben wird",
            r"(?:cela |ça |il |on |le script )?(?:affiche|imprime|donne|renvoie|retourne|obtient)",
            r"j['’]obtiens",
            r"imprime|muestra|devuelve|obtengo|se obtiene|mostra|retorna",
            r"stampa|restituisce",
            r"выводит|печатает|возвращает|выдаёт|выдает",
        ),
    ),
    (
        "raises",
        (
            r"(?:wirft|kommt)(?: es)?(?: zu)?(?: (?:eine?[nmr]?|der|die))?(?= \w*(?:Error|Exception|Fehler))",
            r"(?:lève|lance)(?: une?)?(?= [`\w]*(?:Error|Exception|erreur))",
            r"lanza(?: una?)?|lança(?: uma?)?",
            r"solleva",
            r"вызывает",
        ),
    ),
    (
        "works",
        (
            r"(?:läuft|funktioniert|geht|klappt)(?: (?:es|alles|das))?(?: (?:gut|richtig))?",
            r"(?:ist )?alles (?:gut|in Ordnung)",
            r"(?:cela |ça |tout )?(?:fonctionne|marche|va bien)",
            r"funciona(?:ba)?(?: bien)?|todo (?:va )?bien|va (?:perfecto|bien)|vai bem",
            r"funziona",
            r"работает|работало",
        ),
    ),
    (
        "crashes",
        (
            r"stürzt(?: \w{1,12})? ab|absturz",
            r"plante",
            r"se cuelga|revienta|(?:se )?muere|morre",
            r"падает",
        ),
    ),
    ("is", (r"(?:est|é|è)(?= [`\d\[(-])",)),
    ("instead", (r"stattdessen", r"à la place", r"en su lugar")),
    ("if", (r"wenn(?: man)?", r"si (?:l['’]on|on|je)", r"si se|cuando")),
    ("under", (r"unter(?= (?:python|numpy|torch|windows|linux|mac|version))",)),
    (
        "with",
        (
            r"mit(?= (?:python|numpy|torch|version|`|der|dem))",
            r"avec",
            r"con(?= (?:python|numpy|torch|la|el|`))",
        ),
    ),
    (
        "since",
        (
            r"seit(?= (?:version |python |numpy |torch )?\d|(?: \w+){0,2} (?:python|numpy|torch|version))",
            r"ab(?= (?:version|python|numpy|torch))",
            r"depuis",
            r"desde",
            r"начиная с",
        ),
    ),
    (
        "on",
        (
            r"(?:auf|unter)(?= (?:dem |einem |meinem )?(?:windows|linux|mac|ubuntu))",
            r"(?:en|em|sur|sous|su)(?= (?:mi |mon )?(?:windows|linux|mac|ubuntu))",
        ),
    ),
    (
        "replaced",
        (
            r"(?:ersetzt|austauscht|ändert)(?: man)?",
            r"(?:remplace|change)(?= (?:le|la|les|l['’]|`))",
            r"(?:reemplaza|sustituye|cambia|substitui)",
        ),
    ),
    ("here", (r"he?raus(?=\s*(?:[,.;:!]|$))",)),
    (
        "no",
        (
            r"keine?[rn]?(?= (?:fehler|exception|ausnahme|warnung|\w*Error))",
            r"aucune?(?= (?:erreur|exception|\w*Error))",
            r"ning[úu]na?(?= (?:error|excepción|\w*Error))|nenhum(?= err)",
            r"nessun[oa]?(?= (?:errore|eccezione))",
        ),
    ),
    ("but", (r"aber|jedoch", r"mais", r"pero", r"но(?= )")),
    ("and", (r"und",)),
    ("error", (r"fehler(?:meldung)?", r"erreur|message d['’]erreur", r"ошибка")),
)
# Each phrase of `_WORDS` holds one of these words, in all its forms. Most lines hold none, and need no look.
_KEYS = key_set(
    "ab aber absturz affiche alles alors anstatt anstelle aspettavo aspetto attend attendais attendait "
    "attends attendu attendue attendues attendus attesa atteso aucun aucune auf ausgabe ausgegeben "
    "austauscht avec bien cambia change con correcto correto cuando cuelga debe debería depuis desde "
    "deve deveria devrait devuelve doit donne dovrebbe drucken druckt em en enquanto equivocado ergeben "
    "ergebnis ergibt errado erreur erroné erronée erronées erronés ersetzt erwarte erwartet erwartete "
    "erwartetes espera esperaba esperada esperado esperava espero esperoba est falsch falsche falschen "
    "falscher falsches fauss fausse fausses fausss fehler fehlermeldung fonctionne funciona funcionaba "
    "funktioniert funziona geben geht gibt habe heraus hraus hätte imprime incorrecte incorrecto invece "
    "invés jedoch kein keine keinen keiner keinn keinr klappt kommt korrekt lance lanza lança liefern "
    "liefert lieu lugar läuft lève mais marche mentre mientras mit morre mostra muere muestra muss "
    "mussn müsste müssten nenhum nessun nessuna nessuno ningun ninguna ningún ningúna obtengo obtiene "
    "obtiens obtient ordnung perfecto pero plante posto reemplaza remplace renvoie restituisce "
    "resultado retorna retourne revienta richtig risultato résultat salida saída sbagliato seit si soll "
    "solleva solln sollte sollten sortie sous stampa statt stattdessen stürzt su substitui sur "
    "sustituye tandis und unter vai verhalten vez wenn wirft während à ändert вместо возвращает вывод "
    "lauf mal start aufruf durchlauf varie diffère chaque muda varía varia ogni cada каждом каждый запуска "
    "é è deben müssen sollen müsste sollte должна должны deverian deven deberían debenn "
    "выводит выдает выдаёт вызывает должен должно начиная но ожидается ожидал ожидала ожидалось "
    "ожидался ошибка падает печатает работает работало тогда"
)
_LATIN = re.compile(
    r"(?<![\w-])(?:"
    + "|".join(rf"(?P<w{at}>{'|'.join(patterns)})" for at, (_, patterns) in enumerate(_WORDS))
    + r")(?![\w-])",
    re.IGNORECASE,
)
# Code and quoted text keep their words.
_QUOTED = re.compile(
    r"(`{1,3}[^`\n]{0,2000}`{1,3}|\"[^\"\n]{0,500}\"|“[^”\n]{0,500}”|«[^»\n]{0,500}»|「[^」\n]{0,500}」)"
)
_QUOTES = '`"“«「'
_MOST_LINE = 4_000


@remembers()
def in_english(text: str) -> str:
    """The prose with the words of claims in English. Lines keep their numbers."""
    if _is_english(words_of(text)) and not has_signs(text):
        return text
    return "\n".join(_line(line) for line in text.split("\n"))


def _is_english(words: frozenset[str]) -> bool:
    return _KEYS.isdisjoint(words) and not has_phrases(words)


def _line(line: str) -> str:
    if len(line) > _MOST_LINE:
        return line
    replacements = [] if _is_english(words_of(line)) else _replacements(line)
    pieces: list[str] = []
    at = 0
    for quoted in _QUOTED.finditer(line) if any(sign in line for sign in _QUOTES) else ():
        pieces += [_in_english(line, at, quoted.start(), replacements), quoted[0]]
        at = quoted.end()
        while replacements and replacements[0].start < at:
            del replacements[0]
    text = "".join([*pieces, _in_english(line, at, len(line), replacements)])
    return text if line[:1] == " " else text.lstrip(" ")


def _replacements(line: str) -> list[Replacement]:
    """The phrases of a line, and between them the patterns."""
    words = words_of(line)
    phrases = list(replacements_of(line)) if has_phrases(words) else []
    taken = {at for each in phrases for at in range(each.start, each.end)}
    others = (
        Replacement(match.start(), match.end(), _WORDS[int((match.lastgroup or "w0")[1:])][0])
        for match in (() if _KEYS.isdisjoint(words) else _LATIN.finditer(line))
    )
    free = [other for other in others if taken.isdisjoint(range(other.start, other.end))]
    return sorted([*phrases, *free], key=lambda each: each.start)


def _in_english(line: str, start: int, end: int, replacements: Sequence[Replacement]) -> str:
    """A piece of a line in English. Its neighbours are in sight, and are not changed."""
    pieces: list[str] = []
    at = start
    for each in replacements:
        if each.end > end:
            break
        pieces += [line[at : each.start], each.english]
        at = each.end
    text = "".join([*pieces, line[at:end]])
    return in_english_signs(text, line[end : end + 1])
