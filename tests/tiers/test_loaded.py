"""What selecting and judging load: neither pandas nor scipy, nor what the audit extra brings."""

from __future__ import annotations

import numpy as np
import pytest

from bonwise.routing.gain_model import fit_gain
from bonwise.routing.saved import SavedRouter
from cli.served import served
from tiers.commands_by_tier import fill
from tiers.running import AUDIT_MODULES, in_child

HEAVY = {"pandas", "scipy", *AUDIT_MODULES}
ROUTED = ("--strong", "pairwise:openai/n", "--share", "0.5", "--run", "run")
SIGNALS = ("margin", "interval_width", "disagreement", "margin.json", "margin_level.json")

COMMANDS = {
    "judge": ("judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--out", "out.csv", "--run", "run"),
    "judge pairs": (
        *("judge", "pools.jsonl", "--judge", "pairwise:openai/m", "--run", "run"),
        *("--out", "compared.csv", "--pairs", "compared_pairs.csv"),
    ),
    "judge intervals": ("judge", "pools.jsonl", "--judge", "interval:openai/m", "--out", "ends.csv", "--run", "run"),
    "judge, estimated": ("judge", "pools.jsonl", "--judge", "pointwise:openai/m", "--dry-run", "--run", "run"),
    "select": ("select", "pools.jsonl", "--judge", "pointwise:openai/m", "--run", "run"),
    "select by comparisons": ("select", "pools.jsonl", "--judge", "pairwise:openai/m", "--run", "run"),
    "select adaptively": (
        *("select", "pools.jsonl", "--judge", "interval:openai/m", "--strategy", "adaptive:margin=0", "--run", "run"),
    ),
    "select, estimated": ("select", "pools.jsonl", "--judge", "pointwise:openai/m", "--dry-run", "--run", "run"),
    **{
        f"select by {signal}": (
            *("select", "pools.jsonl", "--judge", "interval:openai/m", *ROUTED, "--route", signal),
            *(("--second", "pointwise:openai/m") if signal == "disagreement" else ()),
        )
        for signal in SIGNALS
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Fill a folder, two saved routers among the files, and point the services' addresses at a scripted one."""
    folder = tmp_path_factory.mktemp("loaded")
    fill(folder)
    rng = np.random.default_rng(0)
    features = {"margin": rng.uniform(size=100), "level": rng.uniform(size=100)}
    model = fit_gain(features, features["level"])
    SavedRouter.of("margin", 0.5, -0.2, np.linspace(-1, 0, 50)).save(folder / "margin.json")
    SavedRouter.of("margin_level", 0.5, 0.2, np.linspace(0, 1, 50), model).save(folder / "margin_level.json")
    with pytest.MonkeyPatch.context() as patched, served(patched, tmp_path_factory.mktemp("prices")):
        yield folder


@pytest.fixture(scope="module")
def told(folder):
    """Run the commands twice in one interpreter; by name, what each left behind and what was loaded by then."""
    first, second = (in_child(folder, *COMMANDS.values()) for _ in range(2))
    return dict(zip(COMMANDS, zip(first, second, strict=True), strict=True))


@pytest.mark.parametrize("name", COMMANDS)
def test_judging_and_selecting_load_neither_pandas_nor_scipy(told, name):
    """A command that judges, selects or routes online loads no table, nor does it when it resumes its run folder."""
    first, second = told[name]
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert HEAVY.intersection(first.loaded) == HEAVY.intersection(second.loaded) == set()


def test_a_resumed_run_sends_nothing(told):
    """The second time every answer is in the run folder, and the file of scores is the same to the byte."""
    first, second = told["judge"]
    assert "12 calls sent, 0 answers from the ledger" in first.err
    assert "0 calls sent, 12 answers from the ledger" in second.err
    assert "out.csv" in first.written
    assert "out.csv" not in second.written


def test_the_library_selects_without_pandas_or_scipy(folder):
    """So do `bonwise.select`, `bonwise.judge`, `bonwise.select_many`, and a Selector with a Router."""
    for one in in_child(folder, calls=("selected", "many_judged", "served")):
        assert one.failure == ""
        assert HEAVY.intersection(one.loaded) == set()


def test_what_needs_a_distribution_loads_scipy_alone(folder):
    """The interval of a mean of draws, and the value of a further draw, take scipy, and no table either."""
    pointwise = ("pools.jsonl", "--judge", "pointwise:openai/m", "--run", "run")
    resampled = ("pools.jsonl", "--judge", "resampled,draws=2,of=pointwise:openai/m", "--run", "run")
    for words in (("judge", *resampled), ("select", *pointwise, "--strategy", "value_of_information")):
        (done,) = in_child(folder, words)
        assert done.code == 0, done.err
        assert HEAVY.intersection(done.loaded) == {"scipy"}
