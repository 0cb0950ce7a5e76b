"""Label sheets: what is written is read back with every id as it was; blind ones, and those of the command."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pandas as pd
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

import bonwise as bw
from bonwise.cli import entry
from bonwise.cli.labels import app
from bonwise.errors import InputError, RowError, UsageError
from bonwise.labels.blind_sheet import BlindSheet, SheetRow, sheet_of_pools
from bonwise.table.label_design import LabelDesign
from bonwise.table.reading import open_rows
from bonwise.table.scales import Scale
from bonwise.table.sheet_keys import SHEET_KEY, ids_of_key, sheet_key
from bonwise.testing import simulate
from cli.commands import strict, typed

# Blind label sheets: what is written is read back with every id as it was, whatever the ids and the words are.


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
NAMES = TEXT.filter(str.strip) | st.sampled_from(
    [
        "=1+1",
        "-a",
        "@x",
        "'=1",
        "+1",
        "1",
        "1.0",
        "007",
        "NA",
        "null",
        "<script>",
        "a,b;c\td",
        '"q"',
        "p\x00",
        "\u202ex",
    ]
)


@st.composite
def sheets(draw):
    """Draw rows with hostile ids and words, some of them labelled."""
    rows = draw(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=12, unique=True))
    label = st.none() | st.sampled_from([1.0, 2.5, 0.7, 5.0])
    return tuple(SheetRow(p, c, draw(TEXT), draw(TEXT), draw(label)) for p, c in sorted(rows))


@given(prompt_id=st.text(max_size=60), candidate=st.text(max_size=60))
def test_a_key_stands_for_its_ids(prompt_id, candidate):
    """Any two texts come back exactly; the key is plain letters that no spreadsheet runs and shows neither."""
    key = sheet_key(prompt_id, candidate)
    assert ids_of_key(key) == (prompt_id, candidate)
    assert key[0].isalpha()
    assert set(key) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
    if len(candidate) > 3:
        assert candidate not in key


@given(rows=sheets())
def test_a_sheet_is_read_back(tmp_path_factory, rows):
    """The CSV and the tasks of Label Studio give every id, and the labels, as they were."""
    folder = tmp_path_factory.mktemp("sheet")
    sheet = BlindSheet(rows)
    (folder / "s.csv").write_text(sheet.csv(), encoding="utf-8", newline="")
    read, _ = open_rows(folder / "s.csv")
    assert list(zip(*(read.columns[name].to_numpy() for name in ("prompt_id", "candidate")), strict=True)) == [
        (r.prompt_id, r.candidate) for r in rows
    ]
    found = [float(cell) if cell else None for cell in read.columns["oracle_label"].to_numpy()]
    assert found == [row.label for row in rows]
    tasks = json.loads(sheet.tasks())
    assert [ids_of_key(one["data"][SHEET_KEY]) for one in tasks] == [(r.prompt_id, r.candidate) for r in rows]
    assert [one["data"]["response"] for one in tasks] == [row.response for row in rows]


@given(rows=sheets())
def test_no_name_is_shown(rows):
    """Whatever the candidates are called, a page holds the name of none, and ends no script early."""
    named = tuple(SheetRow(f"prompt-{r.prompt_id}", f"model-{r.candidate}", r.prompt, r.response) for r in rows)
    sheet = BlindSheet(named)
    page = sheet.page()
    assert "model-" not in page + sheet.csv() + sheet.tasks()
    data = page.split('id="sheet">')[1].split("</script>")[0]
    shown = json.loads(data)["prompts"]
    keys = [key for prompt in shown for key, _, _ in prompt["responses"]]
    assert sorted(map(ids_of_key, keys)) == sorted((row.prompt_id, row.candidate) for row in named)


@given(key=st.text(max_size=30) | st.binary(max_size=30).map(lambda one: "k" + one.hex()))
def test_what_is_no_key_is_one_sentence(key):
    """A key that was changed is refused with its row."""
    with pytest.raises(RowError, match=r"table, row 0: .*sheet_key"):
        open_rows(pd.DataFrame({SHEET_KEY: [key], "oracle_label": [1]}))


def test_every_changed_letter_of_a_key_is_noticed():
    """No letter of a key can be mistyped without being noticed."""
    key = sheet_key("p1", "gpt")
    for at in range(1, len(key) - 1):
        with pytest.raises(ValueError, match="key"):
            ids_of_key(key[:at] + ("A" if key[at] != "A" else "B") + key[at + 1 :])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work beside scores of one judge and the pools with their words."""
    monkeypatch.chdir(tmp_path)
    frame = simulate("arena", n=40, seed=1).frame()
    frame.drop(columns="oracle_label").to_csv("scores.csv", index=False)
    frame[["prompt_id", "candidate", "oracle_label"]].to_csv("truth.csv", index=False)
    with Path("pools.jsonl").open("w", encoding="utf-8") as stream:
        for name, rows in frame.groupby("prompt_id", sort=False):
            texts = [{"id": one, "text": f"=words of {len(one)} letters"} for one in rows["candidate"]]
            stream.write(json.dumps({"prompt_id": name, "prompt": f"-{name}?", "candidates": texts}) + "\n")
    return tmp_path


DRAW = "labels draw scores.csv --labels 40 --pools pools.jsonl --out design.csv --seed 3 --sheet"


def filled(path):
    """Fill in a blind sheet with the true labels."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    truth = pd.read_csv("truth.csv").set_index(["prompt_id", "candidate"])["oracle_label"]
    return rows.assign(oracle_label=[str(truth[ids_of_key(key)]) for key in rows[SHEET_KEY]])


def test_a_filled_sheet_audits_as_the_labels_themselves(capsys, folder):
    """The audit of a filled blind sheet is that of the labels by name, without a further flag."""
    assert typed(capsys, *DRAW.split(), "sheet.csv").code == 0
    rows = filled("sheet.csv")
    assert rows.columns.tolist() == [SHEET_KEY, "oracle_label", "prompt", "response"]
    assert rows["response"].str.startswith("'=words").all()
    # Within prompts, candidates do not stand by name.
    names = [ids_of_key(key)[1] for key in rows[SHEET_KEY]]
    assert len({tuple(names[at : at + 4]) for at in range(0, 160, 4)}) > 10
    rows.to_csv("sheet.csv", index=False)
    for labels, out in (("sheet.csv", "a.json"), ("truth.csv", "b.json")):
        assert typed(capsys, "audit", "scores.csv", "--labels", labels, "--json", out).code == 0
    one, two = (strict(Path(name).read_text("utf-8"))["metrics"] for name in ("a.json", "b.json"))
    assert one == two
    rows.to_csv("semicolons.csv", index=False, sep=";", encoding="utf-8-sig")
    assert typed(capsys, "audit", "scores.csv", "--labels", "semicolons.csv", "--json", "c.json").code == 0
    assert strict(Path("c.json").read_text("utf-8"))["metrics"] == one


def studio(rows, kind):
    """Return what Label Studio exports of tasks that were rated, as its files in tests/table/importers have it."""
    if kind == "JSON":
        return [
            {
                "id": at,
                "annotations": [
                    {
                        "id": at,
                        "completed_by": 1,
                        "was_cancelled": False,
                        "result": [
                            {
                                "from_name": "oracle_label",
                                "to_name": "response",
                                "type": "rating",
                                "value": {"rating": 3},
                            }
                        ],
                    }
                ],
                "data": row,
            }
            for at, row in enumerate(rows)
        ]
    return [
        {**row, "id": at, "oracle_label": [{"rating": 3}], "annotator": 1, "annotation_id": at, "lead_time": None}
        for at, row in enumerate(rows)
    ]


@pytest.mark.parametrize("kind", ["JSON", "JSON_MIN", "CSV"])
def test_an_export_of_label_studio_is_read_back(capsys, folder, kind):
    """Tasks that were rated in Label Studio are labels in each of its formats."""
    assert typed(capsys, *DRAW.split(), "sheet.json").code == 0
    rows = [one["data"] for one in json.loads(Path("sheet.json").read_text("utf-8"))]
    assert Path("sheet.xml").read_text("utf-8").startswith("<View><!-- bonwise label sheet -->")
    exported = studio(rows, kind)
    if kind == "CSV":
        frame = pd.DataFrame(exported)
        frame["oracle_label"] = [json.dumps(one) for one in frame["oracle_label"]]
        frame.to_csv("export.csv", index=False)
    else:
        Path("export.json").write_text(json.dumps(exported), encoding="utf-8")
    name = "export.csv" if kind == "CSV" else "export.json"
    done = typed(capsys, "audit", "scores.csv", "--labels", name, "--json", "audit.json")
    assert done.code == 0, done.err
    audit = strict(Path("audit.json").read_text("utf-8"))
    assert audit["data"]["labelled_prompts"] == 40
    assert audit["metrics"]["value_random"]["estimate"] == 3


def test_a_sheet_of_all_pools_needs_no_scores(capsys, folder):
    """Without scores all prompts are on the sheet, or some that were drawn uniformly; each is read back."""
    done = typed(capsys, "labels", "draw", "--pools", "pools.jsonl", "--sheet", "all.csv", "--json", "all.json")
    assert done.code == 0
    assert done.out.rstrip().endswith("bonwise audit SCORES.csv --labels all.csv")
    assert strict(Path("all.json").read_text("utf-8"))["data"]["responses_to_label"] == 160
    filled("all.csv").to_csv("all.csv", index=False)
    assert typed(capsys, "audit", "scores.csv", "--labels", "all.csv").code == 0
    some = sheet_of_pools("pools.jsonl", labels=10, seed=5, exclude="c0")
    assert len({row.prompt_id for row in some.sheet.rows}) == 10
    assert {row.candidate for row in some.sheet.rows} == {"c1", "c2", "c3"}
    assert some.sheet.csv() == sheet_of_pools("pools.jsonl", labels=10, seed=5, exclude="c0").sheet.csv()
    assert some.sheet.digest != sheet_of_pools("pools.jsonl", labels=10, seed=6, exclude="c0").sheet.digest


def test_every_prompt_is_drawn_as_often():
    """Over many seeds each prompt of the pools is on the sheet equally often."""
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pools.jsonl")
        lines = [json.dumps({"prompt_id": f"p{x}", "prompt": "?", "candidates": ["a", "b"]}) for x in range(10)]
        path.write_text("\n".join(lines), encoding="utf-8")
        drawn = [row.prompt_id for seed in range(400) for row in sheet_of_pools(path, labels=3, seed=seed).sheet.rows]
    counts = pd.Series(drawn).value_counts() / 2
    # 400 draws of 3 of 10: 120 each, with a standard deviation of 9.2.
    assert len(counts) == 10
    assert counts.between(85, 155).all()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("labels draw", "neither scores"),
        ("labels draw --pools pools.jsonl", "neither scores"),
        ("labels draw --pools pools.jsonl --sheet s.html --out d.csv", "--out needs scores"),
        ("labels draw --pools pools.jsonl --sheet s.html --design rule", "--design needs scores"),
        ("labels draw --pools pools.jsonl --sheet s.html --score-col x", "--score-col needs scores"),
        ("labels draw --pools pools.jsonl --sheet s.html --labels 41", "holds 40"),
        ("labels draw --pools pools.jsonl --sheet s.html --label-scale 0:100", "whole labels from 0 to 9"),
        ("labels draw scores.csv --out d.csv --sheet s.html", "needs --labels"),
        ("labels draw scores.csv --labels 5 --sheet s.html", "needs --out"),
        ("labels draw scores.csv --labels 5 --out d.csv --sheet s.html", "--pools"),
        ("labels draw scores.csv --labels 40 --out d.csv --sheet s.csv --pools few.jsonl", "no words of the prompt"),
        ("labels draw --pools scores.csv --sheet s.csv", "no column, or several, named prompt, text"),
        ("labels draw --pools single.jsonl --sheet s.csv", "no pool has two candidates"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(capsys, folder, words, said):
    """Exit code 2, one line, nothing written."""
    first = Path("pools.jsonl").read_text("utf-8").splitlines()[0]
    Path("few.jsonl").write_text(first, encoding="utf-8")
    Path("single.jsonl").write_text('{"prompt_id": "p", "prompt": "?", "candidates": ["a"]}', encoding="utf-8")
    before = sorted(path.name for path in folder.iterdir())
    done = typed(capsys, *words.split())
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert said in done.err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.html", "sheet.json"])
def test_typed_again_it_writes_the_same(capsys, folder, name):
    """The same command writes the same bytes; a sheet that holds labels, or a page, makes way for no other."""
    for _ in range(2):
        assert typed(capsys, *DRAW.split(), name).code == 0
    before = Path(name).read_bytes()
    if name == "sheet.csv":
        filled(name).to_csv(name, index=False)
    if name == "sheet.json":
        rows = [one["data"] for one in json.loads(before)]
        Path(name).write_text(json.dumps(studio(rows, "JSON")), encoding="utf-8")
    kept = Path(name).read_bytes()
    others = (
        f"labels draw --pools pools.jsonl --sheet {name} --force",
        f"labels draw scores.csv --labels 40 --out {name} --force",
        f"audit scores.csv --labels truth.csv --json {name} --force",
        f"audit scores.csv --labels truth.csv --html {name} --force",
    )
    for words in others:
        done = typed(capsys, *words.split())
        assert (done.code, Path(name).read_bytes()) == (2, kept), done.err
        assert any(one in done.err for one in ("never replaced", "holds labels already", "page of another sheet"))


def test_labels_of_an_earlier_phase_stand_on_the_page(folder):
    """A second phase begins with the labels of the first one, and asks for the others."""
    first = bw.draw_labels("scores.csv", labels=10, seed=1, pools="pools.jsonl")
    first.write("first.csv", sheet="first_sheet.csv")
    filled("first_sheet.csv").to_csv("first_sheet.csv", index=False)
    second = bw.draw_labels(
        "scores.csv", labels=20, seed=1, pools="pools.jsonl", after="first.csv", label_file="first_sheet.csv"
    )
    blind = BlindSheet.of_frame(second.sheet, seed=1, phase=2)
    assert sum(row.label is not None for row in blind.rows) == 40
    assert len(blind.rows) == 80
    truth = pd.read_csv("truth.csv").set_index(["prompt_id", "candidate"])["oracle_label"]
    assert all(row.label in (None, truth[row.prompt_id, row.candidate]) for row in blind.rows)
    tasks = json.loads(blind.tasks())
    assert sum("annotations" in task for task in tasks) == 40


def test_a_scale_other_than_from_one_asks_for_numbers():
    """A rating begins at 1; labels from 0 are asked for as numbers, which are read back alike."""
    sheet = BlindSheet((SheetRow("p", "a", "?", "x", 0.0), SheetRow("p", "b", "?", "y")), Scale(0, 1))
    assert '<Number name="oracle_label" toName="response" min="0" max="1"' in sheet.labeling_interface()
    assert json.loads(sheet.tasks())[0]["annotations"][0]["result"][0]["value"] == {"number": 0.0}
    assert '"points":[0,1]' in sheet.page()


def test_a_sheet_without_words_is_refused():
    """Keys alone would be nothing to label."""
    with pytest.raises(InputError, match="shows words"):
        BlindSheet.of_frame(pd.DataFrame({"prompt_id": ["p"], "candidate": ["a"], "oracle_label": [None]}), seed=0)
    with pytest.raises(UsageError, match="whole labels"):
        BlindSheet((SheetRow("p", "a", "", ""),), Scale(0.5, 5)).tasks()


@pytest.fixture
def scores(tmp_path):
    """Write a table of scores with labels and texts, and return its path."""
    path = tmp_path / "scores.csv"
    frame = simulate("arena", n=150, seed=1).frame()
    frame.assign(prompt="Say hello", text="=HYPERLINK(1)").to_csv(path, index=False)
    return path


@pytest.fixture
def unlabelled(scores, tmp_path):
    """Write the table without its labels, and return its path."""
    path = tmp_path / "plain.csv"
    pd.read_csv(scores).drop(columns="oracle_label").to_csv(path, index=False)
    return path


def run(*arguments):
    """Run the group by itself, as the command line's own application would."""
    return typer.main.get_command(app).main([str(one) for one in arguments], standalone_mode=False)


def test_a_draw_writes_design_sheet_and_document_and_names_the_next_command(unlabelled, tmp_path, capsys):
    """Exit 0; the design is read back, the sheet is safe in a spreadsheet, and the audit's command is printed."""
    out, sheet, document = (tmp_path / name for name in ("todo.csv", "sheet.csv", "draw.json"))
    assert (
        run("draw", unlabelled, "--labels", 30, "--seed", 1, "--out", out, "--sheet", sheet, "--json", document) == 0
    )
    said = capsys.readouterr().out
    assert "30 of 150 prompts are to be labelled now" in said
    assert f"bonwise audit {unlabelled} --labels {sheet} --design {out}" in said
    design = LabelDesign.read(out)
    assert design.drawn.sum() == 30
    frame = pd.read_csv(sheet)
    assert len(frame) == 120
    assert frame["text"].unique().tolist() == ["'=HYPERLINK(1)"]
    assert set(frame["prompt_id"]) == set(design.prompt_ids[design.drawn])
    assert strict(document.read_text(encoding="utf-8"))["schema"] == "bonwise.labels/1"


def test_the_same_input_gives_the_same_bytes(scores, tmp_path):
    """Twice the same command: the same design."""
    for name in ("a", "b"):
        run("draw", scores, "--labels", 30, "--out", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_labels_that_stand_in_the_scores_need_no_file(scores, tmp_path, capsys):
    """The audit's command names no second set of labels where the table has its own."""
    run("draw", scores, "--labels", 30, "--out", tmp_path / "todo.csv", "--exclude", "c3")
    assert f"bonwise audit {scores} --design {tmp_path / 'todo.csv'} --exclude c3" in capsys.readouterr().out


def test_a_pilot_is_topped_up_by_the_command_it_prints(scores, unlabelled, tmp_path, capsys):
    """The second command of neyman, with labels of the pilot, draws the rest."""
    plain, labels = unlabelled, tmp_path / "labels.csv"
    pd.read_csv(scores)[["prompt_id", "candidate", "oracle_label"]].to_csv(labels, index=False)
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    run("draw", plain, "--labels", 100, "--design", "neyman", "--out", first)
    assert f"--design neyman --seed 0 --after {first} --label-file labels.csv" in capsys.readouterr().out
    arguments = ("--labels", 100, "--after", first, "--label-file", labels, "--out", second)
    assert run("draw", plain, *arguments) == 0
    assert LabelDesign.read(first).drawn.sum() == 20
    assert LabelDesign.read(second).drawn.sum() == 100


def test_designs_are_compared(scores, tmp_path, capsys):
    """Exit 0, a page of ratios and a document of the published schema."""
    document = tmp_path / "designs.json"
    assert run("compare", scores, "--share", 0.25, "--draws", 5, "--json", document) == 0
    assert "margin" in capsys.readouterr().out
    found = strict(document.read_text(encoding="utf-8"))
    assert found["schema"] == "bonwise.label_designs/1"
    assert found["designs"]["rule"]["shares"][0]["share"] == 0.25


def test_json_on_standard_output_stands_alone(scores, tmp_path, capsys):
    """With --json - the words go to standard error."""
    run("draw", scores, "--labels", 30, "--out", tmp_path / "todo.csv", "--json", "-")
    said = capsys.readouterr()
    assert json.loads(said.out)["data"]["drawn"] == 30
    assert "to be labelled" in said.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--rectangular", "--ragged"), "contradict"),
        (("--sheet", "todo.csv"), "read or written already"),
        (("--design", "best"), "unknown rule"),
        (("--out", "-"), "not standard output"),
        (("--sheet", "-"), "not standard output"),
    ],
)
def test_flags_that_mean_nothing_are_refused(scores, flags, words, tmp_path, monkeypatch):
    """One line that says what is wrong, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=words):
        run("draw", scores, "--labels", 30, "--out", "todo.csv", *flags)
    assert not (tmp_path / "todo.csv").exists()
    assert not (tmp_path / "-").exists()


def test_the_scores_are_not_written_over(scores):
    """The input may not be the output."""
    with pytest.raises(UsageError, match="read or written already"):
        run("draw", scores, "--labels", 30, "--out", scores)


@pytest.mark.parametrize("flag", ["--after", "--label-file"])
@pytest.mark.parametrize("output", ["--out", "--sheet", "--json"])
def test_an_earlier_draw_and_its_labels_are_not_written_over(unlabelled, tmp_path, flag, output):
    """No output may be the earlier draw or the labels that are read."""
    kept = tmp_path / "kept.csv"
    kept.write_text("kept", encoding="utf-8")
    outputs = {"--out": tmp_path / "more.csv"} | {output: kept}
    with pytest.raises(UsageError, match="read or written already"):
        run("draw", unlabelled, "--labels", 60, flag, kept, *(part for pair in outputs.items() for part in pair))
    assert kept.read_text(encoding="utf-8") == "kept"


def test_a_filled_in_sheet_survives_the_same_command(unlabelled, tmp_path):
    """Typed again, the command is refused; another seed does not take the place of the draw either."""
    out, sheet = tmp_path / "todo.csv", tmp_path / "sheet.csv"
    command = ("draw", unlabelled, "--labels", 30, "--out", out, "--sheet", sheet)
    run(*command)
    run(*command)
    pd.read_csv(sheet).assign(oracle_label=0.5).to_csv(sheet, index=False)
    before = sheet.read_bytes(), out.read_bytes()
    with pytest.raises(UsageError, match="holds labels already"):
        run(*command)
    with pytest.raises(UsageError, match="another draw"):
        run(*command, "--seed", 3)
    assert (sheet.read_bytes(), out.read_bytes()) == before


@pytest.fixture
def renamed(tmp_path):
    """Write scores with columns of other names and return their path, and the truth of 0 to 10 for a sheet."""
    frame = simulate("arena", n=200, seed=1).frame()
    truth = frame[["prompt_id", "candidate"]].assign(oracle_label=(10 * frame["oracle_label"]).round())
    plain = frame.drop(columns="oracle_label").rename(columns={"prompt_id": "qid", "judge_score": "rating"})
    plain.to_csv(tmp_path / "ratings.csv", index=False)
    return tmp_path / "ratings.csv", truth


def label(sheet, truth):
    """Fill a sheet in."""
    blank = pd.read_csv(sheet).drop(columns="oracle_label")
    blank.merge(truth, how="left").to_csv(sheet, index=False)


def printed(capsys):
    """Return the words of the command that was printed last."""
    return shlex.split(capsys.readouterr().out.strip().splitlines()[-1])


def test_printed_commands_lead_from_a_pilot_to_an_audit_of_all_phases(renamed, tmp_path, capsys):
    """Typed as printed, flags and all, they draw the rest and audit the labels of both phases as one sample."""
    scores, truth = renamed
    flags = ("--score-col", "rating", "--prompt-col", "qid", "--label-scale", "0:10", "--ragged", "--exclude", "c3")
    files = ("--out", tmp_path / "d.csv", "--sheet", tmp_path / "s.csv")
    run("draw", scores, "--labels", 120, "--design", "neyman", "--seed", 7, *files, *flags)
    words = printed(capsys)
    assert words[:3] == ["bonwise", "labels", "draw"]
    assert words[words.index("--seed") + 1] == "7"
    label(tmp_path / "s.csv", truth)
    assert run(*words[2:]) == 0
    words = printed(capsys)
    sheet = tmp_path / "more-s.csv"
    assert words[words.index("--labels") + 1] == str(sheet)
    assert pd.read_csv(sheet)["oracle_label"].notna().sum() == 24 * 3
    label(sheet, truth)
    assert entry.run([*words[1:], "--json", str(tmp_path / "audit.json")]) == 0
    judge = strict((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert '"method": "aipw"' in json.dumps(judge)
    assert LabelDesign.read(tmp_path / "more-d.csv").drawn.sum() == 120


def test_without_a_sheet_the_second_phase_asks_for_one_file_of_all_labels(renamed, tmp_path, capsys):
    """The words say so, because the command alone cannot."""
    scores, truth = renamed
    flags = ("--score-col", "rating", "--prompt-col", "qid", "--label-scale", "0:10")
    run("draw", scores, "--labels", 30, "--out", tmp_path / "d.csv", "--sheet", tmp_path / "s.csv", *flags)
    label(tmp_path / "s.csv", truth)
    files = ("--after", tmp_path / "d.csv", "--label-file", tmp_path / "s.csv", "--out", tmp_path / "e.csv")
    run("draw", scores, "--labels", 60, *files, *flags)
    assert "the labels of all phases into" in " ".join(capsys.readouterr().out.split())
