"""Whether a reply refuses to judge, in so many words of six languages, and whether words in it are only quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from bonwise.judges.parse.slots import plain

# ruff: noqa: RUF001 - letters and marks of other scripts are what is looked for


_NEAR = 400
"""Characters before an answer in which the words that announce it are looked for."""

_ENDS = re.compile(r"[.!?…。！？](?=[\s\"”’»“)\]*_]|$)|[。！？]|\n")
_PAIRS = ("“”", "„“”", "«»", "「」", "『』", "‘’", "《》", "〈〉", "‹›", "〝〞", "｢｣")
"""Quotation marks: what opens, and all that may close."""
_WORD = re.compile(r"[^\W_]+")
_LEAST_COPIED = 7
"""Bytes of the words beside an answer that must be copied with it: fewer may be chance."""
_LEAST_ALIKE = 4
"""Characters beyond which an announced answer that stands in a text is taken for that text's."""
_QUOTED = re.compile(
    r"“[^”\n]{0,400}”|„[^“”\n]{0,400}[“”]|«[^»\n]{0,400}»|「[^」\n]{0,400}」|『[^』\n]{0,400}』|\"[^\"\n]{0,400}\""
)

WORDS_OF_OTHERS = re.compile(
    # English
    r"\b(?:says?|writes?|wrote|states?|claims?|reads(?=\s*:|$)|contains?|includes?|(?:ends?|begins?"
    r"|starts?) with|adds|appends?"
    r"|quot(?:es?|ed|ing)|cites?|repeats?|prints?|outputs?|inject\w*|insert(?:s|ed|ing)?|hidden"
    r"|embedded|fake|fabricated|pretends?"
    r"|(?:ask|tell|order|command|instruct|want)(?:s|ed|ing)? (?:me|us|the|for|you)|demands?|tries to|attempts? to"
    r"|following (?:line|text|words|sentence)"
    r"|(?:set|giv|award|grad|scor)\w* (?:it|him|her|them)sel(?:f|ves)|its own)\b"
    # German
    r"|\b(?:sagt|schreibt|steht|lautet|behauptet|enthält|(?:endet|beginnt) mit|fügt|zitiert|ein(?:ge)?schleus\w*"
    r"|einzuschleusen|injizier\w*|eingefügt|versteckt|gibt sich|sich (?:\w+ ){0,3}selbst"
    r"|schmuggel\w*|fordert|verlangt|bittet|befiehlt|versucht|folgende\w* (?:zeile|text|worte|satz))\b"
    # French
    r"|\b(?:dit|écrit|affirme|prétend|contient|lit|se termine par|commence par|ajoute|cite|affiche\w*|inject\w*"
    r"|insér\w*|gliss\w*|elle-même|lui-même|cachée?s?|se fait passer|demande (?:au|à|de|que)"
    r"|me demande|tente|exige|ordonne)\b"
    # Spanish
    r"|\b(?:dice|escribe|afirma|declara|pone|contiene|(?:termina|empieza) con|añade|cita|muestr\w*|inyect\w*"
    r"|insert\w*|cuela|a sí mism[oa]|escondid\w*|ocult\w*|se hace pasar|pide|intenta|exige|ordena)\b"
    # Russian
    r"|\b(?:говорит|пишет|написано|гласит|утверждает|заявляет|содержит|заканчивается|начинается|добавляет|цитирует"
    r"|внедр\w*|встав\w*|спрятан\w*|скрыт\w*|выдаёт себя|сам\w* (?:\w+ )?себе|просит|велит|требует|пытается)\b"
    # Chinese
    r"|写道|写着|声称|声明|含有|包含|结尾|引用|注入|插入|隐藏|冒充|要求(?:我|评|输出|只)|试图|企图|命令|最后一行|夹带|出现了|给自己|其中说",
    re.IGNORECASE,
)

_THE_TEXT = re.compile(
    r"\b(?:candidate|response|answer|text|author|essay|writer|submission|kandidat\w*|antwort|text\w*"
    r"|verfasser\w*|autor\w*|candidat|réponse|texte|auteur|candidato|respuesta|texto|кандидат\w*|ответ\w*|текст\w*"
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

_SAID_OF_A_TEXT = re.compile(
    # Greek, Arabic, Hebrew, Hindi, Japanese, Korean, Thai: beside an answer that stands in the text as it is
    r"γράφ|λέει|περιέχ|τελειών|ισχυρίζ|κρυμμέν|προσθέτ|[يت](?:كتب|قول|حتوي|نتهي|دعي|زعم|طلب)|مخفي|أضاف|أدرج"
    r"|כותב|כתוב|אומר|מכיל|מסתיי|טוענ?ת?|מבקש|מוסתר|הוסיף|लिख|कहत|समाप्त हो|दावा कर|छिपा|मांग|जोड़ा|उद्धृत"
    r"|書い|書か|述べ|主張|含ん|含ま|終わ|引用|隠|要求|挿入|씁니다|적혀|말합|주장|포함|끝나|끝납|숨겨|요구|삽입|인용"
    r"|เขียน|กล่าว|อ้าง|มีข้อความ|จบด้วย|ลงท้าย|ซ่อน|ขอให้|สั่ง|แทรก"
)

_LEFT_OPEN = re.compile(
    r"(?:[:：]|\b(?:line|text|words|sentence|with|output|print|write|reply|says?|reads|states|claims|writes"
    r"|insert(?:ed)?|inject(?:ed)?|contains|includes|adds"
    r"|zeile|worte|satz|mit|lautet|schreibt|sagt|behauptet|enthält|die"
    r"|ligne|texte|mots|phrase|par|affiche[rz]?|dit|prétend|inséré|écrit|contient|écrivez"
    r"|línea|texto|palabras|frase|con|muestre|muestra|dice|afirma|insertó|escribe|contiene"
    r"|строку|строкой|текст|слова|написать|гласит|утверждает|вставил|вывести|напишите|выведи)"
    r"|(?:行|句|文字|的话|行是|出现了|输出|写着|写道|结尾|声称|插入了?|要求))$",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"(?:\b(?:my|our) (?:own )?(?:final |overall )?(?:score|rating|verdict|judge?ment|evaluation"
    r"|assessment|answer|choice)(?: (?:is|would be))?"
    r"|\bI (?:\w+ ){0,2}(?:say|give|rate|score|judge|choose|conclude|assign|award|prefer)\b[^,;:]{0,30}"
    r"|\b(?:mein\w*|unser\w*) (?:\w+ )?(?:wertung|bewertung|note|urteil|punktzahl|antwort|wahl)(?: (?:ist|lautet))?"
    r"|\b(?:gebe|sage|bewerte|urteile|vergebe) ich\b[^,;:]{0,30}|\bich (?:gebe|sage|bewerte|vergebe)\b[^,;:]{0,30}"
    r"|\b(?:ma|mon|notre) (?:note|score|verdict|évaluation|jugement|réponse|choix)(?: \w+)?(?: est)?"
    r"|\bje (?:donne|dis|note|lui donne|juge)\b[^,;:]{0,30}"
    r"|\b(?:mi|nuestra) (?:nota|puntuación|veredicto|evaluación|respuesta|elección)(?: \w+)?(?: es)?"
    r"|\b(?:doy|digo|califico|le doy)\b[^,;:]{0,30}"
    r"|\b(?:моя|мой|моё|наша) (?:\w+ )?(?:оценка|вердикт|решение|ответ|выбор)|\bя (?:ставлю|оцениваю"
    r"|говорю)\b[^,;:]{0,30}"
    r"|我的?(?:最终|总体)?(?:评分|分数|结论|判断|打分|给出|给|评为)[^，。；：]{0,10})\s*[:：]?$",
    re.IGNORECASE,
)


def is_copied(text: str, start: int, end: int, asked: str) -> bool:
    """Tell whether a stretch of a reply stands in the words `asked`, by what stands beside it there."""
    whole, copied = _letters_asked(asked), _letters(text[start:end])
    before, after = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
    lines = before.split("\n")
    above = _enough("\n".join(lines[at:]) for at in reversed(range(len(lines))))
    below = _enough(after[: end_of_line.start()] for end_of_line in re.finditer(r"\n|\Z", after))
    near = _letters(before)[-_LEAST_COPIED:], _letters(after)[:_LEAST_COPIED]
    beside = ((above, b""), (b"", below), near if len(b"".join(near)) == 2 * _LEAST_COPIED else (b"", b""))
    return any(first + copied + last in whole for first, last in beside if first or last)


def _enough(stretches: Iterator[str]) -> bytes:
    return next((words for words in map(_letters, stretches) if len(words) >= _LEAST_COPIED), b"")


def _letters(text: str) -> bytes:
    return "".join(_WORD.findall(plain(text).casefold())).encode("utf-8", "surrogatepass")


_letters_asked = lru_cache(maxsize=4)(_letters)


def is_quoted(text: str, start: int, end: int, asked: str = "") -> bool:
    r"""Tell whether a stretch of a reply, from `start` to `end`, is somebody else's words.

    What it copies from the words `asked` is.
    """
    in_block = text[text.rfind("\n", 0, start) + 1 : end].lstrip().startswith(">")
    if in_block or _within_marks(text[:start], text[end:]) or is_copied(text, start, end, asked):
        return True
    before, after = _announcing(text[max(0, start - _NEAR) : start]), text[end:].lstrip(" \t*_`")
    if not before or _OWN.search(before):
        return False
    colon = before.endswith((":", "："))
    if _goes_on(after) and not colon:
        # A line in the middle of a sentence is a part of it.
        return True
    alike = end - start > _LEAST_ALIKE and text[start:end].strip() in asked
    if alike and (colon or _SAID_OF_A_TEXT.search(before)) and not _JUDGING.search(before):
        return True
    if not _LEFT_OPEN.search(before):
        return False
    return bool(WORDS_OF_OTHERS.search(before) or (_THE_TEXT.search(before) and not _JUDGING.search(before)))


def without_quotations(text: str) -> str:
    """Return a text without what stands between quotation marks on one line."""
    return _QUOTED.sub("", text)


def _within_marks(before: str, after: str) -> bool:
    """Tell whether a quotation begins before and ends behind."""
    if any(before.count(mark) % 2 and mark in after for mark in '"＂״'):
        return True
    # Chinese and English close with the mark that German opens with.
    german = "„" in before
    pairs = _PAIRS[1:] if german else (_PAIRS[0], *_PAIRS[2:])
    return any(
        before.count(pair[0]) > sum(map(before.count, pair[1:])) and any(map(after.count, pair[1:])) for pair in pairs
    )


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


# ruff: noqa: RUF001 - letters and marks of other scripts are what is looked for


_SENTENCES = re.compile(r"(?<=[.!?…。！？])\s*|\n")


class _Refusal(NamedTuple):
    """How a language refuses."""

    unable: str
    """Not able, not allowed, not willing, of the first person."""
    help: str
    """To help, to go on, to comply."""
    judge: str
    """To judge this very text; it says what, for one may well be unable to judge the dates of a text."""
    either_order: bool
    """Whether the verb may also stand before."""
    alone: str
    """What is a refusal without anything else."""


_ENGLISH = _Refusal(
    r"\bI(?:['’](?:m|d|ll)| am| would| have to| must)? ?(?:regretfully |really |simply "
    r"|just )?(?:can ?not|can['’]t|could not|won['’]t"
    r"|will not|must not|may not|(?:am )?(?:unable|unwilling|uncomfortable)|not (?:be )?(?:able"
    r"|willing|going|comfortable|permitted|allowed"
    r"|authori[sz]ed|in a position)|do(?:n['’]t| not) (?:feel comfortable|want to|wish to)"
    r"|rather not|prefer not|refuse|decline)\b",
    r"(?:assist(?:ing)?|help(?:ing)?(?= with| you| here|\s*[.,;!]|$)|comply(?:ing)?"
    r"|do(?:ing)? (?:that|this|so)(?=\s*[.,;!]|$)|fulfil+(?:ing)?"
    r"|engag(?:e|ing) (?:with|in)|continu(?:e|ing)(?= with| this|\s*[.,;!]|$)|proceed(?:ing)?"
    r"|participat(?:e|ing)|process (?:this|that|your)|respond to this|discuss this"
    r"|(?:provide|giv|offer|assign)(?:e|ing)? (?:you )?(?:an?|any) (?:score|rating|verdict|grade"
    r"|evaluation|judge?ment|number))\b",
    r"(?:evaluat|rat|scor|grad|judg|assess|review|compar)(?:e|ing)? (?:(?:this|that|it|these|them"
    r"|either|both)(?=\W|$)(?!\s+[a-z])"
    r"|(?:this|that|these|such|the|either) (?:\w+ )?(?:candidates?|responses?|answers?|contents?"
    r"|texts?|materials?|requests?|one|kind|type|submissions?|pair|evaluation)\b|material\b|anything\b)",
    either_order=False,
    alone=r"\bpass on this\b|\binappropriate for me to\b|\bI (?:must |have to )?(?:refuse"
    r"|decline)(?=\s*(?:[.!,;]|$))|\bI must (?:decline|refuse)\b"
    r"|\bI(?:['’]m| am)? ?(?:can ?not|can['’]t|won['’]t|unable to|decline to)"
    r"(?: (?:judge|evaluate|assess|rate|score|answer))?\s*[.!]?$|^\W*cannot judge\b"
    r"|\bagainst (?:my|our) (?:\w+ )?(?:guidelines|polic(?:y|ies)|principles|rules|programming)\b",
)
_GERMAN = _Refusal(
    r"\b(?:(?:kann|darf|werde|möchte|will|könnte) ich (?:[\w,]+ ){0,6}?(?:nicht|keine?n?)"
    r"|ich (?:kann|darf|werde|möchte|will) (?:[\w,]+ ){0,6}?"
    r"(?:nicht|keine?n?)|(?:bin ich|ich bin) (?:leider )?nicht (?:bereit|befugt|berechtigt"
    r"|in der lage|imstande)|mir (?:ist )?(?:es )?nicht möglich"
    r"|ich weigere mich|weigere ich mich|ich (?:muss|möchte) (?:es )?ablehnen|bin ich nicht in der lage)\b",
    r"(?:(?:weiter)?helfen|behilflich|tun|machen|nachkommen|fort(?:zu)?setzen|fortfahren|erfüllen"
    r"|weitermachen|äußern|bearbeiten|eingehen"
    r"|(?:bewertung|note|punkte|punktzahl) (?:ab|abgeben|geben|vergeben))\b",
    r"(?:\b(?:dies\w*|solche\w*|das|es|den|die|so etwas|hierfür) ?(?:inhalte?|antwort\w*|kandidat\w*"
    r"|text\w*|material\w*)?\b(?:[\w,]+ ){0,5}?[^.!?]{0,12}(?:zu )?(?:bewerten|beurteilen|benoten|vergleichen))\b",
    either_order=True,
    alone=r"\b(?:ich (?:kann|darf|möchte|werde|will)|(?:kann|darf|möchte|werde"
    r"|will) ich) (?:\w+ ){0,3}?(?:dies\w*|solche\w*|das|es|den|die|so etwas)"
    r"(?: (?:inhalte?|antwort\w*|kandidat\w*|texte?"
    r"|material\w*))?,? (?:\w+ )?nicht (?:\w+ ){0,3}?(?:bewerten|beurteilen|benoten|vergleichen)\b|"
    r"\b(?:solche\w*|diese\w*|so) (?:\w+ )?(?:bewerte|beurteile|benote) ich nicht\b|\bweigere mich\b"
    r"|\b(?:lehne ich|ich lehne)\b[^.!?]{0,40}\bab\b|\bich muss es ablehnen\b"
    r"|\bdabei helfe ich nicht\b|\bgehe ich nicht ein\b"
    r"|\b(?:gegen|mit) meinen? (?:richtlinien|grundsätzen?|regeln)\b|\bfühle mich nicht wohl\b"
    r"|\bgebe ich keine (?:bewertung|note|punkte)\b"
    r"|\b(?:werde|möchte) ich (?:\w+ )?keine (?:bewertung|note|punkte)\b",
)
_FRENCH = _Refusal(
    r"\b(?:je (?:ne |n['’])(?:peux|puis|suis|saurais|vais|souhaite|veux|pourrai)(?: \w+)? (?:pas"
    r"|plus)(?: (?:en mesure|autorisée?|capable|disposée?|habilitée?))?"
    r"|je ne (?:peux|puis|saurais)|il m['’]est impossible|(?:je dois "
    r"|je me vois contrainte? de )?refuser?|je refuse|je préfère ne pas)\b",
    r"(?:aider|assister|répondre(?=\s*[.!]|$)|faire (?:cela|ça)|continuer|poursuivre|participer"
    r"|(?:répondre à|traiter|satisfaire|accéder à) (?:cette|votre|ta) demande|donner (?:une|de) note)\b",
    r"(?:évaluer|noter|juger|comparer) (?:ce(?:tte|t|s|la)?|ça|le (?:contenu|candidat|texte)"
    r"|la réponse|les (?:textes|réponses)|une? tel(?:le)?)\b",
    either_order=False,
    alone=r"\bje refuse\b|\bje (?:ne |n['’])(?:donnerai|attribuerai|mettrai)\b[^.!?]{0,20}\b(?:note|score"
    r"|évaluation)\b|\bje n['’]entrerai pas\b"
    r"|\bje dois (?:refuser|décliner)\b|\bpas possible de (?:répondre|continuer|vous aider)\b"
    r"|\b(?:contraire à|contre) mes (?:règles|principes|directives)\b|\bpas à l['’]aise pour\b|\bde le noter\b",
)
_SPANISH = _Refusal(
    r"\b(?:no (?:puedo|voy a|soy capaz de|podré|deseo|quiero|debo)|no (?:estoy autorizad[oa]"
    r"|estoy en condiciones|me es posible|me está permitido)|rechazo|prefiero no|me veo incapaz de)\b",
    r"(?:responder(?=\s*[.!]|$)|ayudar(?:te|le|os|les)?|asistir(?:te|le)?|hacer(?:lo| eso| esto)"
    r"|cumplir|continuar|seguir|participar|entrar en"
    r"|(?:procesar|atender|responder a) (?:esta|esa|su|tu)|dar una (?:nota|puntuación))\b",
    r"(?:evaluar|calificar|puntuar|juzgar|comparar) (?:est[aeo]s?|es[aeo]s?|a este|material"
    r"|el contenido|el texto|la respuesta)\b",
    either_order=False,
    alone=r"\bme niego\b|\b(?:debo|tengo que) (?:negarme|rechazar)\b|\ben contra de mis (?:normas|reglas"
    r"|principios|directrices)\b|\bno me siento cómod[oa]\b|\bno (?:daré|doy) ninguna (?:nota|puntuación)\b",
)
_RUSSIAN = _Refusal(
    r"\b(?:не (?:могу|буду|стану|смогу|в состоянии|хочу|готова?|вправе|имею права)|отказываюсь"
    r"|мне нельзя|предпоч\w+ бы не)\b",
    r"(?:помочь|помогать|этого сделать|сделать (?:это|этого)|выполнить|обсуждать|продолж\w+"
    r"|участвовать|(?:ставить|поставить|дать|давать) оценку)\b",
    r"(?:(?:оцен(?:ить|ивать)|судить|сравнивать|проверять) (?:эт|подобн|так|данн)\w*"
    r"|эт\w* (?:\w+ )?(?:оцен(?:ить|ивать)|судить)|(?:оцен(?:ить|ивать)|судить) это)\b",
    either_order=True,
    alone=r"\bвынужден\w* отказ\w*|\bвоздержусь\b|\bотказываюсь\b|\bоценку\b[^.!?]{0,20}\bне поставлю\b"
    r"|\bпротиворечит моим\b|\bмне некомфортно\b|\b(?:так|подобн|эт)\w* (?:\w+ )?я не оцениваю\b",
)
_CHINESE = _Refusal(
    r"(?:我|恕|抱歉|对不起)[^。！？]{0,4}?(?:无法|不能|不会|不便|不愿意?|不可以|没有?办法|没法|拒绝|不予|无权)",
    r"(?:这样做|协助|帮忙|帮助|帮[你您]|打分|评分|给出(?:分数|评分|评价)|提供(?:分数|评分|评价)|满足|讨论|完成|继续|处理|回答(?:这个|该|此)|参与|执行这)",
    r"(?:评价|评判|评估|比较)(?!其|是否|日期)",
    either_order=False,
    alone=r"帮不了[你您]|违反了?我的|我(?:必须)?拒绝",
)

_NOT_A_REFUSAL = re.compile(
    r"[0-9]|\b(?:higher|lower|above|below|beyond|better|worse|full|perfect|maximum|credit|weight|marks"
    r"|points|whether|without|instructions?|inject\w*|fully|directly|in favou?r|the line|accuracy"
    r"|höher|besser|schlechter|voll\w*|anweisung\w*|ob|ohne|plus|mieux|tous|toutes|instructions?|consignes?|sans|si"
    r"|más|mejor|máxim\w*|todos|instrucci\w*|sin|выше|лучше|хуже|высш\w*|указани\w*|без)\b"
    r"|满分|更高|更好|指令|最高|是否",
    re.IGNORECASE,
)


def _patterns() -> Iterator[str]:
    for language in (_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _RUSSIAN, _CHINESE):
        what = f"(?:{language.help}|{language.judge})"
        yield rf"{language.unable}[^.!?。！？]{{0,60}}?{what}"
        if language.either_order:
            yield rf"{what}[^.!?]{{0,20}}?{language.unable}"
        yield language.alone


_REFUSALS = re.compile("|".join(_patterns()), re.IGNORECASE)


def refuses(words: str) -> bool:
    """Tell whether a reply says that it will not judge.

    Neither quotations count, nor ``I cannot rate it higher than 40``. `words` are the reply without the answer read.
    """
    return any(_is_refusal(sentence) for sentence in _SENTENCES.split(without_quotations(words)) if sentence)


def _is_refusal(sentence: str) -> bool:
    match = _REFUSALS.search(sentence)
    if match is None or _NOT_A_REFUSAL.search(sentence):
        return False
    return WORDS_OF_OTHERS.search(sentence[: match.start()]) is None
