from __future__ import annotations

from pathlib import Path

import pytest

from bonwise.cli.entry import run
from bonwise.studies.result import study_names
from docs.pages import blocks, commands, without_outputs

GUIDES = (
    "docs/annotators.md",
    "docs/calls.md",
    "docs/choosing.md",
    "docs/confidence.md",
    "docs/hosts.md",
    "docs/factor.md",
    "docs/json.md",
    "docs/judges.md",
    "docs/label_designs.md",
    "docs/length_order_family.md",
    "docs/logged_picks.md",
    "docs/pages.md",
    "docs/partial_labels.md",
    "docs/planning.md",
    "docs/preference_studies.md",
    "docs/preferences.md",
    "docs/prompts.md",
    "docs/routing.md",
    "docs/routing_online.md",
    "docs/runs.md",
    "docs/selection.md",
    "docs/sequential.md",
    "docs/serve.md",
    "docs/spending.md",
    "docs/stack.md",
    "docs/strategies.md",
    "docs/tables.md",
    "docs/value_of_information.md",
    "docs/watch.md",
    *(f"docs/study_{name.replace('-', '_')}.md" for name in study_names()),
)
TYPED = [(page, words) for page in GUIDES for words in commands(page)]
WRITTEN = [(page, block) for page in GUIDES for block in blocks(page, "python")]


@pytest.mark.parametrize(("page", "words"), TYPED, ids=lambda part: part if isinstance(part, str) else " ".join(part))
def test_every_command_of_a_guide_runs(page, words, folder, capsys):
    """Each command of a guide does what it says, given the run folder and the prompt file that it names."""
    Path("my-prompt.md").write_bytes(Path(__file__).parents[2].joinpath("prompts", "pointwise.md").read_bytes())
    Path("serve.toml").write_text(blocks("docs/serve.md", "toml")[0], encoding="utf-8")
    if words[1] == "ledger":
        assert run(["judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--run", words[3]]) == 0
    without_outputs(words)
    # What monitor and watch find is their exit code; the others have done what was asked, or not.
    codes = (0, 1, 3) if words[1] in {"monitor", "watch"} else (0,)
    assert run(words[1:]) in codes, capsys.readouterr().err


@pytest.mark.parametrize(("page", "block"), WRITTEN, ids=lambda part: part if part in GUIDES else "")
def test_every_python_block_of_a_guide_runs(page, block, folder):
    """Each Python block of a guide runs as it stands."""
    exec(compile(block, page, "exec"), {})  # noqa: S102 - its purpose


def test_the_guides_are_read():
    """The guides hold commands and Python blocks for this file to run."""
    assert len(TYPED) >= 7
    assert len(WRITTEN) >= 2
