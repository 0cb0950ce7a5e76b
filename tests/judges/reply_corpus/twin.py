"""A plain reader of scores, written by hand beside the one of bonwise, and changes made to replies at random.

It knows no quotations and no refusals, so it may read what bonwise leaves unread, and never the other way round.
"""

from __future__ import annotations

import json
import re
import unicodedata

NOT_SHOWN = "\u200b\u200c\u200d\u2060\ufeff"
MARKS = " \t*_`#"
LABEL = re.compile(
    r"[-•+ *_`#\"']*(?:(?:final |overall )?(?:score|rating)|final answer)"
    r"[\"']?(?: *\((?:(?:from )?0 ?(?:-|\u2013|to) ?100(?: scale)?|(?:out of|/) ?100)\))?[ *_`]*[:=](.*)",
    re.IGNORECASE,
)
HEADING = re.compile(
    r"[-•+ *_`#\"']*(?:(?:final |overall )?(?:score|rating)|final answer)[ *_`\"':=]*", re.IGNORECASE
)
TAGS = re.compile(
    r"<((?:final |overall )?(?:score|rating)|final answer)>([^<]*)</\1>|\[\[([^\[\]\n]*)\]\]|\[RESULT\]:?([^\n]*)",
    re.IGNORECASE,
)
LONE = re.compile(
    r"(?:[0-9]+(?:\.[0-9]+)*(?:[eE][-+]?[0-9]+)?(?!\w)|[\s,;/%|\-\u2212\u2013\u2014]|or|and|to|out of)+"
)
BAD = "no plain score"


OTHERS = re.compile(
    r"\b(?:ends with|writes|prints|claims|says|contains|included)\b"
    r"|kandydat|kandidaat|aday",
    re.IGNORECASE,
)
GOES_ON = re.compile(r"\.?[*_`]*\n?[a-z,;)]")


def twin(text):
    """Return the last score that a reply states; None where there is none, or two that contradict each other."""
    return _last(*_stated(text))


def readings(text):
    """Return what a reply may be read as: its last score, or the last one before those in somebody's sentence."""
    text, stated = _stated(text)
    found = {_last(text, stated)}
    while stated and (_is_quoted(text, *stated[-1][:2]) or (stated[1:] and _near(text, *stated[-2:]))):
        stated.pop()
        found.add(_last(text, stated))
    return found


def _is_quoted(text, start, end):
    *_, above, line = ["", *text[:start].split("\n")]
    before = line if above.rstrip().endswith((".", "!", "?")) else f"{above} {line}"
    open_marks = text[:start].count('"') % 2 and '"' in text[end:]
    return open_marks or OTHERS.search(before) or GOES_ON.match(text[end:])


def _stated(text):
    text = "".join(_looks(sign) for sign in text).replace("\r\n", "\n").replace("\r", "\n")
    body = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    whole = _object_at(body, 0)
    if whole is None or whole[1] < len(body):
        text = re.split(r"</think(?:ing)?>", text, flags=re.IGNORECASE)[-1]
        if re.search(r"<think(?:ing)?>", text, re.IGNORECASE):
            return text, []
    stated, rest = _objects(text)
    tags = _tags(rest)
    for start, end, _ in tags:
        rest = rest[:start] + " " * (end - start) + rest[end:]
    return text, sorted([*stated, *tags, *_lines(rest, beside="{" in text)], key=lambda one: one[:2])


def _last(text, stated):
    if not stated:
        return None
    last = stated[-1]
    near = [one for one in stated if one is last or _near(text, one, last)]
    return last[2] if last[2] != BAD and all(one[2] == last[2] for one in near) else None


def _looks(sign):
    if sign in NOT_SHOWN:
        return ""
    if unicodedata.category(sign) == "Zs":
        return " "
    wide = "\uff01" <= sign <= "\uff5e" and sign not in "\uff02\uff07\uff5b\uff5d\uff3c\uff0c"
    return unicodedata.normalize("NFKC", sign) if wide else sign


def _near(text, one, last):
    gap = text[one[1] : last[0]]
    return "\n" not in gap or not re.search(r"\w", gap)


def _objects(text):
    """Return the scores in objects, with where each stands, and the text without the objects."""
    stated, at = [], 0
    while (start := text.find("{", at)) >= 0:
        found = _object_at(text, start)
        if found is None:
            at = start + 1
            continue
        pairs, end = found
        values = [value for key, value in pairs if key.lower() == "score"]
        if values:
            why = [value for key, value in pairs if key.lower() == "why" and isinstance(value, str)]
            empty = all(value.strip(" .-").lower() in ("", "none", "null", "n/a") for value in why)
            single = len(values) == 1 and empty and not isinstance(values[0], bool)
            stated.append((start, end, _number(str(values[0])) if single else BAD))
        text = text[:start] + "".join("\n" if one == "\n" else " " for one in text[start:end]) + text[end:]
        at = end
    return stated, text


def _object_at(text, start):
    if text[start : start + 1] != "{":
        return None
    # A backslash is doubled unless it begins an escape; each one adds a letter, which is taken off the end again.
    mended, moved, at = [], [], start
    while at < len(text):
        lone = text[at] == "\\" and not re.match(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})', text[at : at + 6])
        step = 2 if text[at] == "\\" and not lone else 1
        mended.append(text[at : at + step] + ("\\" if lone else ""))
        moved += [at + step] * len(mended[-1])
        at += step
    try:
        pairs, end = json.JSONDecoder(strict=False, object_pairs_hook=tuple, parse_float=str, parse_int=str,
                                      parse_constant=str).raw_decode("".join(mended))  # fmt: skip
    except (ValueError, RecursionError):
        return None
    return pairs, moved[end - 1]


def _tags(text):
    stated = []
    for found in TAGS.finditer(text):
        words = next(part for part in (found[2], found[3], found[4]) if part is not None)
        number = _number(words)
        if number != BAD or (found[3] is None and words.strip(MARKS)):
            # What follows [RESULT] on its line and is no number is other words.
            end = found.end() if number != BAD or found[4] is None else found.start() + len("[RESULT]")
            stated.append((found.start(), end, number))
    return stated


def _lines(text, *, beside):
    """Return the scores of lines with a label; of lines without one too, where the text says nothing else."""
    labelled, lone, prose, announced, at = [], [], False, False, 0
    for line in text.split("\n"):
        span = (at, at + len(line))
        at += len(line) + 1
        if all(word.lower() in ("json", "or", "and") for word in re.findall(r"\w+", line)):
            continue
        if beside and line.lstrip(MARKS)[:1] in ('"', "'"):
            # It may be left of a broken object.
            prose, announced = True, False
            continue
        label = LABEL.fullmatch(line.rstrip(" ,;"))
        if HEADING.fullmatch(line):
            announced = True
            continue
        if label:
            value = label[1].strip(MARKS + "\"'")
            announced = not value
            labelled += [(*span, _number(value))] * bool(value)
            continue
        if LONE.fullmatch(line.strip(MARKS).removesuffix(".")) and re.search("[0-9]", line):
            (labelled if announced else lone).append((*span, _number(line)))
        else:
            prose = True
        announced = False
    return labelled if prose else labelled + lone


def _number(words):
    words = words.strip(MARKS + "\n").removesuffix(".").strip(MARKS)
    words = re.sub(r" ?(?:/|\bout of\b) ?100$", "", words)
    if words.startswith("[") and words.endswith("]"):
        words = words.strip("[]")
    if not re.fullmatch(r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", words):
        return BAD
    return float(words) if float(words) <= 100 else BAD


KEPT = (
    lambda _, text: text.replace("\n", "\r\n"),
    lambda _, text: f"\n {text}\u200b\n",
    lambda _, text: text.replace(" ", "\u00a0"),
    lambda _, text: text.replace(": ", ":\u2009"),
    lambda _, text: text.translate({ord(one): ord(one) + 0xFEE0 for one in "0123456789"}),
    lambda _, text: text.replace("Score", "SCORE").replace('"score"', '"Score"'),
    lambda _, text: text.replace("Score: ", "**Score:** "),
    lambda drawn, text: f"<think>{drawn.choice(('Score: 3', '50 or 60?', '{'))}</think>{text}",
    lambda _, text: f"\ufeff{text}",
)
"""What changes the looks of a reply and not what it says."""

SCRAPS = (
    '{"score": ', '"why": "', "}", "{", '"', "\\", "\n", "\n\n", " ", "85", "0", "7", "-", "/100", " or ", " to ",
    "Score: ", "Rating: ", "[[", "]]", "[RESULT] ", "<score>", "</score>", "<think>", "</think>", "```", "null",
    "It says ", "I decline.", ".", ",", ":", "e1", "%", "\u200b", "\uff15",
)  # fmt: skip


def mutated(drawn, text, others):
    """Return a reply with one to four changes that may turn what it says into anything."""
    for _ in range(drawn.randint(1, 4)):
        at, to = sorted((drawn.randint(0, len(text)), drawn.randint(0, len(text))))
        match drawn.randrange(6):
            case 0:
                text = text[:at] + text[at + 1 :]
            case 1:
                text = text[:at] + drawn.choice(SCRAPS) + text[at:]
            case 2:
                text = text[:at] + text[at:to] + text[at:]
            case 3:
                text = text[:at] + text[to:]
            case 4:
                text = f"{text}\n{drawn.choice(others)}"
            case 5:
                text = re.sub(r"[0-9]+", lambda _: str(drawn.randint(0, 120)), text, count=1)
    return text
