"""Files that come back in, damaged in every way: refused with one clear error, or right as they are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bonwise.auditing.logged_picks import read_picks
from bonwise.cli.entry import run
from bonwise.errors import FileError, RowError
from bonwise.routing.saved import SavedRouter
from bonwise.selection.draw_model import load_model
from documents.mutations import mutations

KEPT = Path(__file__).parent / "kept"
ROUTERS = ("width", "disagreement", "margin", "learnt")
FILES = dict.fromkeys(ROUTERS, ("json", SavedRouter.load)) | {
    "model": ("json", load_model),
    "tie": ("jsonl", read_picks),
    "routed": ("jsonl", read_picks),
}

UNREAD = (
    *("comparisons", "cost", "calls", "draws", "expected_regret", "failure", "index", "latency", "p_best", "ranking"),
    *("routed", "scores", "standard_errors", "stopped", "text", "tied", "unscored"),
)
NUMBERS = "zero|negative|negative fraction|fraction|huge"

RIGHT = {
    "routers": {
        r"judge: (text|digits|control|long)": "a judge may have any name; what cannot be printed is written out",
        r"version: (text|digits|control|long)": "says who wrote the file; nothing is computed from it",
        r"scale: empty": "no scale was declared",
        r"captured: object": "nothing is known of what was captured, as of a router made in Python",
        r"captured\.low: (zero|negative|negative fraction)": "an interval may be as wide below",
        r"model\.fit\.\w+\.low: (zero|negative|negative fraction)": "an interval may be as wide below",
        r"model\.fit\.r2\.estimate: zero": "between the ends of its interval",
        r"(captured|model\.fit\.\w+)\.se: (fraction|huge)": "an interval need not be symmetric about its estimate",
        r"model\.(means|scales|coefficients): backwards": "any mean, scale above 0 and coefficient is possible",
        rf"model\.(means|coefficients)\.0: ({NUMBERS})": "scores may have any unit",
        r"model\.scales\.0: (fraction|huge)": "scores may have any unit",
        rf"model\.intercept: ({NUMBERS})": "labels may have any unit",
        r"model\.penalty: (fraction|huge)": "any penalty above 0 is one",
        r"model\.fit: null": "a model of a part of the prompts is not cross-fitted",
        r"model\.fit\.weighted: true": "weights may all be equal",
        r"calibration: one (more|less)": "any number of prompts may have been looked at, up to 2,000",
        r"calibration\.0: (zero|negative|negative fraction)": "still in order, and a value that the signal can have",
        r"threshold: zero": "a value between the ends of the calibration",
    },
    "model": {
        r"version: (text|digits|control|long)": "says who wrote the file; nothing is computed from it",
        rf"prior\.beta: ({NUMBERS})": "first scores may foretell later ones to any degree, or the wrong way round",
        r"prior\.cuts\.0: (zero|negative|negative fraction)": "below the other cut, and a score between low and high",
        r"prior\.(sigma2|tau2): backwards": "any class of prompts may scatter most",
        r"prior\.(sigma2|tau2)\.0: (fraction|huge)": "a variance above 0; sigma2 within the range of the scores",
        r"prior\.nu0: huge": "all prompts may scatter alike",
        r"(call_sd|candidate_sd): fraction": "within the range of the scores",
        r"candidate_sd: zero": "chance alone may explain the differences",
        r"low: (zero|negative fraction)": "a range that still holds the cuts and standard deviations",
        r"high: (fraction|huge)": "a range that still holds the cuts and standard deviations",
        r"prices\.0: (fraction|huge)": "above the second price; a call may be worth anything",
    },
    "picks": {
        rf"({'|'.join(UNREAD)})\b.*": "no audit reads it, and what else picks may use the name otherwise",
        r": unknown key": "what else picks may say more",
        r": deep": "the same, where nobody reads it",
        rf"prompt_id: (text|digits|control|long|zero|{NUMBERS})": "an identifier may be any text or number",
        r"decided_by: (text|digits|control|long|empty|blank|null|removed|renamed)": "in the words of whoever picked",
        r"best: null": "nothing was picked",
        r"level: (list|null|removed|renamed)": "no seed decided: the pick alone was kept",
        r"level: (backwards|one less)": "these are among the ids, and the pick is among them",
        r"ids: (backwards|one less)": "the pick is still among them",
        r"ids\.0: .*": "a candidate may have any name; the pick is still among them",
        r"(answers|from_ledger|\w+_tokens): (null|removed|renamed)": "the line does not say",
        r"(answers|from_ledger|\w+_tokens): zero": "none",
        r"settings: (null|object|removed|renamed)": "the line does not say who picked",
        r"settings\.(judge|strategy): (null|text|digits|control|long|empty|blank|removed|renamed)": "names the picks",
        r"settings: unknown key inside": "strategies have settings of their own",
        r"settings\.(judge_version|seed|on_failure|version|parameters|strong)\b.*": "compared between lines alone",
    },
}
"""What is accepted, by key and change, and why that is right."""


def reasons_of(name):
    """Return the patterns of what is right in a file."""
    return RIGHT["routers" if name in ROUTERS else "model" if name == "model" else "picks"]


def document(name):
    """Return a kept file; of picks one line, and one among equals."""
    if FILES[name][0] == "json":
        return json.loads((KEPT / f"{name}.json").read_text("utf-8"))
    lines = [json.loads(line) for path in KEPT.glob("*.jsonl") for line in path.read_text("utf-8").splitlines()]
    lines = [line for line in lines if "best" in line]
    return next(line for line in lines if (len(line["level"]) > 1 if name == "tie" else line["routed"] is not None))


def outcomes(name, folder):
    """Yield every mutation of a file with the error that refuses it, None where it is accepted."""
    ending, read = FILES[name]
    path = folder / f"file.{ending}"
    for mutation in mutations(document(name)):
        path.write_text(mutation.text + "\n", encoding="utf-8")
        try:
            read(path)
        except (FileError, RowError) as error:
            yield mutation, error
        else:
            yield mutation, None


@pytest.mark.parametrize("name", FILES)
def test_damage_is_refused_or_right(name, tmp_path):
    """Each change of a file is refused with one short line that names the key, or listed above with a reason."""
    refused = accepted = 0
    used = set()
    for mutation, error in outcomes(name, tmp_path):
        if error is None:
            matching = [one for one in reasons_of(name) if re.fullmatch(one, mutation.name)]
            assert matching, f"accepted without a reason: {mutation.name}"
            used.update(matching)
            accepted += 1
            continue
        refused += 1
        assert error.message.isprintable(), mutation.name
        assert len(error.message) < 600, mutation.name
        assert error.hint, mutation.name
        assert _names(mutation, error.message.partition("file.json")[2]), f"{mutation.name}: {error.message}"
    assert refused >= 110
    assert accepted + refused >= 380


def _names(mutation, message):
    """Tell whether a message names the key that was changed, or what is wrong with the file as a whole."""
    whole = ("not a JSON object", "nested deeper", "nested too", "too many digits", "no schema")
    keys = {key for key in re.split(r"\W+", mutation.key) if key and not key.isdigit()} | {"unknown"}
    return any(key in message for key in keys) or any(words in message for words in whole)


def test_every_reason_is_needed(tmp_path):
    """No reason is in the list for a change that is refused anyway."""
    for kind, reasons in RIGHT.items():
        names = [name for name in FILES if reasons_of(name) is reasons]
        accepted = {mutation.name for name in names for mutation, error in outcomes(name, tmp_path) if error is None}
        idle = [one for one in reasons if not any(re.fullmatch(one, name) for name in accepted)]
        assert idle == [], kind


def test_a_command_ends_with_one_line(tmp_path, capsys):
    """Whoever names a damaged file on the command line is told so: exit code 2, one line, nothing picked."""
    pools = tmp_path / "pools.jsonl"
    pools.write_text('{"prompt_id": "p", "prompt": "p", "candidates": ["a", "b"]}\n')
    routed = ["--judge", "local:length", "--strong", "local:length", "--route", str(tmp_path / "file.json")]
    valued = ["--judge", "local:length", "--strategy", f"value_of_information:model={tmp_path / 'file.json'}"]
    audited = ["audit", str(tmp_path / "file.jsonl"), "--labels", str(tmp_path / "labels.csv")]
    (tmp_path / "labels.csv").write_text("prompt_id,candidate,oracle_label\np,c0,1\n")
    commands = {
        "learnt": ["select", str(pools), *routed],
        "model": ["select", str(pools), *valued],
        "routed": audited,
    }
    for name, words in commands.items():
        refusals = (mutation for mutation, error in outcomes(name, tmp_path) if error is not None)
        for at, mutation in enumerate(refusals):
            if at % 20:
                continue
            if name == "routed" and mutation.key in {"ids", "best"} and mutation.change in {"removed", "renamed"}:
                continue  # a first line without them holds no picks, and is read as a table
            assert run(words) == 2, mutation.name
            printed = capsys.readouterr()
            assert printed.out == ""
            assert printed.err.count("\n") == 1, printed.err
            assert "Traceback" not in printed.err
