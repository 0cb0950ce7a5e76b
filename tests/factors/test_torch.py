from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import bonwise as bw
from bonwise.errors import MissingExtraError, UsageError
from bonwise.factors import engine as fitting
from bonwise.factors import stage_one
from bonwise.factors.stage_one import CapabilityShape, StageOneLoss, backend_for, fit_capabilities
from bonwise.testing import simulate_ratings
from cli.commands import typed
from factors.test_stages import arrays, mixed


@pytest.fixture
def without_torch(monkeypatch):
    """Work as where torch is not installed."""
    real = importlib.util.find_spec
    monkeypatch.setattr("bonwise.extras.find_spec", lambda name: None if name == "torch" else real(name))


@pytest.fixture
def with_torch(monkeypatch):
    """Work as where torch is installed, as far as it is only looked for."""
    real = importlib.util.find_spec
    monkeypatch.setattr("bonwise.extras.find_spec", lambda name: real("json") if name == "torch" else real(name))


def test_many_ratings_are_for_torch_where_it_is_installed(with_torch):
    """Above 300,000 ratings, unless numpy is asked for."""
    assert [backend_for("auto", count) for count in (300_000, 300_001)] == ["numpy", "torch"]
    assert backend_for("numpy", 10**7) == "numpy"
    assert backend_for("torch", 1) == "torch"
    with pytest.raises(UsageError, match="there is no backend 'cuda'"):
        backend_for("cuda", 1)


def test_without_torch_the_line_to_type_is_said(without_torch, tmp_path, monkeypatch, capsys):
    """Who asks for torch is refused before anything is read; ``auto`` takes numpy and says what would be faster."""
    assert backend_for("auto", 10**7) == "numpy"
    with pytest.raises(MissingExtraError, match=r"the backend torch needs bonwise\[torch\]") as refused:
        bw.fit_factors("absent.csv", human="human", backend="torch")
    assert refused.value.hint == "pip install 'bonwise[torch]'"
    done = typed(capsys, "factor", "fit", str(tmp_path / "absent.csv"), "--human", "human", "--backend", "torch")
    assert done.code == 2
    assert "pip install 'bonwise[torch]'" in done.err
    monkeypatch.setattr(stage_one, "MANY_RATINGS", 100)
    lines = []
    ratings = simulate_ratings(1, prompts=40, judges=3, labelled=0.5).frame()
    asked = {"human": "human", "rank": 1, "prior": 1.0, "restarts": 1, "interval": None}
    found = bw.fit_factors(ratings, **asked, say=lines.append)
    assert found.settings.backend == "numpy"
    assert sum("pip install 'bonwise[torch]'" in line for line in lines) == 1


def test_the_backend_that_was_used_is_in_the_document(monkeypatch):
    """Whatever ``auto`` chose."""
    seen = []
    real = fitting.fit_stage_one

    def fitted(judges, ranks, priors, **settings):
        seen.append(settings["backend"])
        return real(judges, ranks, priors, **settings)

    monkeypatch.setattr(fitting, "fit_stage_one", fitted)
    ratings = simulate_ratings(1, prompts=40, judges=3, labelled=0.5).frame()
    found = bw.fit_factors(ratings, human="human", rank=1, prior=1.0, restarts=1, interval=None)
    assert seen == [found.settings.backend] == ["numpy"]


@pytest.mark.torch
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("ratings", ["mixed", "counted", "single"])
def test_loss_and_gradient_are_those_of_numpy(ratings, rank, normalize):
    """In double precision, for raters of both kinds, repeated ratings, with the prior and with normalised columns."""
    from bonwise.factors.torch_stage_one import TorchStageOneLoss  # noqa: PLC0415 - torch is in its own environment

    data = {"mixed": mixed, "counted": lambda: mixed(900).counted()}.get(ratings, lambda: arrays(prompts=60))()
    shape = CapabilityShape(data.raters, data.prompts, data.models, rank, data.layout)
    one, other = (kind(data, shape, 0.7, normalize) for kind in (StageOneLoss, TorchStageOneLoss))
    for seed in range(5):
        at = one.start(np.random.default_rng(seed)) * (1 + seed)
        (loss, gradient), (by_torch, its_gradient) = one(at), other(at)
        assert abs(loss - by_torch) < 1e-6
        assert np.abs(gradient - its_gradient).max() < 1e-6


@pytest.mark.torch
def test_parts_of_the_ratings_add_up_to_all(monkeypatch):
    """The gradient is taken in parts, and the batches of a pass estimate the whole loss without bias."""
    from bonwise.factors import torch_stage_one as by_torch  # noqa: PLC0415

    torch = pytest.importorskip("torch")
    data = mixed(500)
    shape = CapabilityShape(data.raters, data.prompts, data.models, 2, data.layout)
    loss = by_torch.TorchStageOneLoss(data, shape)
    at = StageOneLoss(data, shape).start(np.random.default_rng(0))
    whole = loss(at)
    monkeypatch.setattr(by_torch, "_CHUNK", 64)
    in_parts = loss(at)
    assert in_parts[0] == pytest.approx(whole[0], rel=1e-12)
    assert np.allclose(in_parts[1], whole[1], atol=1e-12)
    batches = torch.from_numpy(np.random.default_rng(1).permutation(500)).split(100)
    vector = torch.tensor(at)
    assert np.mean([float(loss.of_batch(vector, rows)) for rows in batches]) == pytest.approx(whole[0], rel=1e-10)


@pytest.mark.torch
def test_both_backends_find_the_same_factors():
    """The same loss, and the same capabilities up to what the optimiser leaves."""
    data = arrays(prompts=150, judges=8).without_human()
    by_numpy, by_torch = (fit_capabilities(data, 3, restarts=2, backend=name) for name in ("numpy", "torch"))
    assert by_torch.loss == pytest.approx(by_numpy.loss, abs=2e-4)
    assert np.corrcoef(by_torch.tensor().ravel(), by_numpy.tensor().ravel())[0, 1] > 0.999
    again = fit_capabilities(data, 3, restarts=2, backend="torch")
    assert np.allclose(again.tensor(), by_torch.tensor(), atol=1e-6)


@pytest.mark.torch
def test_a_fit_by_torch_predicts_like_one_by_numpy():
    """Held-out cross-entropy by the public function."""
    ratings = simulate_ratings(2, prompts=150, judges=8, labelled=0.5).frame()
    asked = {"human": "human", "rank": 2, "prior": 1.0, "holdout": 0.5, "interval": None}
    one, other = (bw.fit_factors(ratings, backend=name, **asked) for name in ("numpy", "torch"))
    assert (one.settings.backend, other.settings.backend) == ("numpy", "torch")
    assert other.holdout.cross_entropy == pytest.approx(one.holdout.cross_entropy, abs=5e-3)
