"""What ``--help`` lists is whole sentences, also in a narrow terminal."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from bonwise.cli.app import app_for


@pytest.mark.parametrize("group", [[], ["labels"], ["study"], ["prompts"], ["ledger"]])
def test_commands_are_listed_with_whole_sentences(group):
    """At 80 columns no sentence is cut, and each ends with a full stop."""
    shown = CliRunner().invoke(app_for(group), [*group, "--help"], env={"COLUMNS": "80"})
    assert shown.exit_code == 0
    listed = shown.output.partition("Commands:\n")[2].strip("\n").split("\n")
    assert len(listed) > 1
    assert [line for line in listed if "..." in line or not line.endswith(".")] == []
