"""Whether what looks like an answer stands in somebody else's words, which the reply only quotes.

An answer is quoted where quotation marks are open around it, or where the words before it announce somebody's words
(``The candidate ends with the line``) and the sentence is not at its end. The words are those of six languages.
"""

from __future__ import annotations

import re

# ruff: noqa: RUF001 - letters and marks of other scripts are what is looked for

__all__ = ["WORDS_OF_OTHERS", "is_quoted", "without_quotations"]

_NEAR = 400
"""Characters before an answer in which the words that announce it are looked for."""

_ENDS = re.compile(r"[.!?…。！？](?=[\s\"”’»“)\]*_]|$)|[。！？]|\n")
_PAIRS = (("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"), ("『", "』"))
_QUOTED = re.compile(
    r"“[^”\n]{0,400}”|„[^“”\n]{0,400}[“”]|«[^»\n]{0,400}»|「[^」\n]{0,400}」|『[^』\n]{0,400}』|\"[^\"\n]{0,400}\""
)

WORDS_OF_OTHERS = re.compile(
    # English
    r"\b(?:says?|writes?|wrote|states?|claims?|reads(?=\s*:|$)|contains?|includes?|(?:ends?|begins?"
    r"|starts?) with|adds|appends?"
    r"|quot(?:es?|ed|ing)|cites?|repeats?|prints?|outputs?|inject\w*|insert(?:s|ed|ing)?|hidden"
    r"|embedded|fake|fabricated|pretends?"
    r"|(?:ask|tell|order|command|instruct|want)(?:s|ed|ing)? (?:me|us|the|for|you)|demands?|tries to"
    r"|attempts? to"
    r"|following (?:line|text|words|sentence)|(?:set|giv|award|grad|scor)\w* (?:it|him|her"
    r"|them)sel(?:f|ves)|its own)\b"
    # German
    r"|\b(?:sagt|schreibt|steht|lautet|behauptet|enthält|(?:endet|beginnt) mit|fügt|zitiert"
    r"|ein(?:ge)?schleus\w*"
    r"|einzuschleusen|injizier\w*|eingefügt|versteckt|gibt sich|sich (?:\w+ ){0,3}selbst"
    r"|schmuggel\w*|fordert|verlangt|bittet|befiehlt|versucht"
    r"|folgende\w* (?:zeile|text|worte|satz))\b"
    # French
    r"|\b(?:dit|écrit|affirme|prétend|contient|lit|se termine par|commence par|ajoute|cite"
    r"|affiche\w*|inject\w*"
    r"|insér\w*|gliss\w*|elle-même|lui-même|cachée?s?|se fait passer|demande (?:au|à|de|que)"
    r"|me demande|tente|exige|ordonne)\b"
    # Spanish
    r"|\b(?:dice|escribe|afirma|declara|pone|contiene|(?:termina|empieza) con|añade|cita|muestr\w*"
    r"|inyect\w*|insert\w*"
    r"|cuela|a sí mism[oa]|escondid\w*|ocult\w*|se hace pasar|pide|intenta|exige|ordena)\b"
    # Russian
    r"|\b(?:говорит|пишет|написано|гласит|утверждает|заявляет|содержит|заканчивается|начинается"
    r"|добавляет|цитирует"
    r"|внедр\w*|встав\w*|спрятан\w*|скрыт\w*|выдаёт себя|сам\w* (?:\w+ )?себе|просит|велит|требует"
    r"|пытается)\b"
    # Chinese
    r"|写道|写着|声称|声明|含有|包含|结尾|引用|注入|插入|隐藏|冒充|要求(?:我|评|输出|只)|试图|企图|命令|最后一行|夹带|出现了|给自己|其中说",
    re.IGNORECASE,
)

_THE_TEXT = re.compile(
    r"\b(?:candidate|response|answer|text|author|essay|writer|submission|kandidat\w*|antwort|text\w*"
    r"|verfasser\w*|autor\w*"
    r"|candidat|réponse|texte|auteur|candidato|respuesta|texto|кандидат\w*|ответ\w*|текст\w*"
    r"|автор\w*)\b|候选|回答|答案|文中|作者",
    re.IGNORECASE,
)
_JUDGING = re.compile(
    r"\b(?:scor\w+|rat(?:ed?|ing)|grad\w+|verdict|evaluat\w+|assess\w+|judg\w+|overall|conclusion"
    r"|result|summary|reasoning|decision"
    r"|gets?|deserves?|receives?|earns?|worth|final|strengths?|weakness\w*|well|good|poor|correct|right|wrong"
    r"|\w*(?:wert(?:ung|et)|note|urteil|punkt)\w*|ergebnis|fazit|verdient|bekommt|erhält|insgesamt|gut|richtig|falsch"
    r"|note|notation|évaluation|jugement|conclusion|résultat|mérite|obtient|reçoit|globale?|bien|juste|faux"
    r"|nota|puntuación|evaluación|veredicto|conclusión|resultado|merece|obtiene|recibe|global|bien|correct[ao]"
    r"|оценк\w*|балл\w*|вердикт|решение|вывод|итог\w*|заслуживает|получает|хорошо|верно|неверно)\b|评分|得分|分数|评价|结论|总分|评估|得到|应得|总体",
    re.IGNORECASE,
)

_LEFT_OPEN = re.compile(
    r"(?:[:：]"
    r"|\b(?:line|text|words|sentence|with|output|print|write|reply|says?|reads|states|claims|writes"
    r"|insert(?:ed)?"
    r"|inject(?:ed)?|contains|includes|adds"
    r"|zeile|worte|satz|mit|lautet|schreibt|sagt|behauptet|enthält|die"
    r"|ligne|texte|mots|phrase|par|affiche[rz]?|dit|prétend|inséré|écrit|contient|écrivez"
    r"|línea|texto|palabras|frase|con|muestre|muestra|dice|afirma|insertó|escribe|contiene"
    r"|строку|строкой|текст|слова|написать|гласит|утверждает|вставил|вывести|напишите|выведи)"
    r"|(?:行|句|文字|的话|行是|出现了|输出|写着|写道|结尾|声称|插入了?|要求))$",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"(?:\b(?:my|our) (?:own )?(?:final |overall )?(?:score|rating|verdict|judge?ment|evaluation"
    r"|assessment|answer|choice)"
    r"(?: (?:is|would be))?"
    r"|\bI (?:\w+ ){0,2}(?:say|give|rate|score|judge|choose|conclude|assign|award|prefer)\b[^,;:]{0,30}"
    r"|\b(?:mein\w*|unser\w*) (?:\w+ )?(?:wertung|bewertung|note|urteil|punktzahl|antwort"
    r"|wahl)(?: (?:ist|lautet))?"
    r"|\b(?:gebe|sage|bewerte|urteile|vergebe) ich\b[^,;:]{0,30}|\bich (?:gebe|sage|bewerte"
    r"|vergebe)\b[^,;:]{0,30}"
    r"|\b(?:ma|mon|notre) (?:note|score|verdict|évaluation|jugement|réponse|choix)(?: \w+)?(?: est)?"
    r"|\bje (?:donne|dis|note|lui donne|juge)\b[^,;:]{0,30}"
    r"|\b(?:mi|nuestra) (?:nota|puntuación|veredicto|evaluación|respuesta|elección)(?: \w+)?(?: es)?"
    r"|\b(?:doy|digo|califico|le doy)\b[^,;:]{0,30}"
    r"|\b(?:моя|мой|моё|наша) (?:\w+ )?(?:оценка|вердикт|решение|ответ|выбор)|\bя (?:ставлю|оцениваю"
    r"|говорю)\b[^,;:]{0,30}"
    r"|我的?(?:最终|总体)?(?:评分|分数|结论|判断|打分|给出|给|评为)[^，。；：]{0,10})\s*[:：]?$",
    re.IGNORECASE,
)


def is_quoted(text: str, start: int, end: int) -> bool:
    r"""Tell whether a stretch of a reply is somebody else's words.

    Parameters
    ----------
    text : str
    start, end : int
        Of the stretch.

    Examples
    --------
    >>> said = "It ends with the line\nScore: 100\nwhich I ignore."
    >>> is_quoted(said, 22, 32), is_quoted("Sound, but terse.\nScore: 85", 18, 27)
    (True, False)
    """
    if _within_marks(text[:start], text[end:]):
        return True
    before, after = _announcing(text[max(0, start - _NEAR) : start]), text[end:].lstrip(" \t*_`")
    if not before or _OWN.search(before):
        return False
    colon = before.endswith((":", "："))
    if _goes_on(after) and not colon:
        # A line in the middle of a sentence is a part of it.
        return True
    if not _LEFT_OPEN.search(before):
        return False
    return bool(WORDS_OF_OTHERS.search(before) or (_THE_TEXT.search(before) and not _JUDGING.search(before)))


def without_quotations(text: str) -> str:
    """Return a text without what stands between quotation marks on one line.

    Examples
    --------
    >>> without_quotations('It says "I cannot help." and stops.')
    'It says  and stops.'
    """
    return _QUOTED.sub("", text)


def _within_marks(before: str, after: str) -> bool:
    """Tell whether a quotation begins before and ends behind."""
    if before.count('"') % 2 and '"' in after:
        return True
    # Chinese and English close with the mark that German opens with.
    german = "„" in before
    pairs = _PAIRS[1:] if german else (_PAIRS[0], *_PAIRS[2:])
    return any(before.count(first) > before.count(last) and last in after for first, last in pairs)


def _announcing(before: str) -> str:
    """Return the unfinished sentence before an answer; nothing where the sentence is at its end."""
    # Code fences and bold type around the answer are not words of the reply.
    before = before.rstrip("\n\r \t*_`#>")
    before = re.sub(r"`{3}\w*$", "", before).rstrip()
    return _ENDS.split(before)[-1].strip() if before else ""


def _goes_on(after: str) -> bool:
    """Tell whether the words behind an answer go on with the sentence before it."""
    following = after.removeprefix("\n")
    return bool(following) and (following[0].islower() or following[0] in ",.;)，。；")
