"""What further calls buy: value of information against other rules, paired, at equal mean calls.

    python benchmarks/redraws.py                  # stored draws, with ../shared/data
    python benchmarks/redraws.py --pilots 12      # fresh simulated prompts, each pilot learnt from anew
    python benchmarks/redraws.py --laws --pilots 5 --prompts 20000    # the same over laws of scatter, and more rules

Value of information runs as it is shipped: what was learnt from the pilot says at which two prices a mean number of
calls is spent, and it spends what it spends. The other rules are scored at the calls that it spent, exactly. Nothing
but the scoring looks at labels. All of it is simulation: how much a real judge gains is unknown.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bonwise.selection.learnt_draws import DrawModel
from bonwise.stats.redraws import CallPrice, Replay, replay
from bonwise.testing import simulate
from redraw_contenders import Picked, halving, learn_ocba, ocba, paper, top_two, uniform
from redraw_laws import LAWS, drawn

Floats = npt.NDArray[np.float64]

MEAN_CALLS = (5.0, 6.0, 7.5, 10.5, 15.0)
FILES = {"pilot": "pilot_like_20000.parquet", "one_model": "one_model_20000.parquet"}
PILOT, PILOT_DRAWS = 500, 5
VOI, OCBA = "value of information", "OCBA-EB"
PASSES = (1.25, 1.5, 2.0, 3.0)
"""Mean calls over laws, in first passes."""
RIVALS = (OCBA, "top-two Thompson", "sequential halving")


class Labelled(NamedTuple):
    """Draws of some prompts, and the labels that score what is picked."""

    draws: Floats
    labels: Floats

    @property
    def span(self) -> float:
        """What perfect picks gain over random ones."""
        return float((self.labels.max(axis=1) - self.labels.mean(axis=1)).mean())

    def gains(self, top: npt.NDArray[np.bool_]) -> Floats:
        """Return what each pick gains over a random one, in units of recovery; ties in expectation."""
        value = (top * self.labels).sum(axis=1) / top.sum(axis=1)
        found: Floats = (value - self.labels.mean(axis=1)) / self.span
        return found


class Spent(NamedTuple):
    """What pools took on average, and what each of them gained over a random pick."""

    calls: float
    gains: Floats


def at_prices(played: Replay, prices: CallPrice, data: Labelled) -> Spent:
    """Play every pool at both prices and take its lot in expectation."""
    lower, higher = played.at(prices.lower), played.at(prices.higher)
    calls = prices.share * lower.calls.mean() + (1 - prices.share) * higher.calls.mean()
    gains = prices.share * data.gains(lower.top) + (1 - prices.share) * data.gains(higher.top)
    return Spent(float(calls), gains)


def at_calls(played: Replay, calls: float, data: Labelled) -> Floats:
    """Return the gains at the prices that spend so many calls on these very prompts."""
    return at_prices(played, played.curve().prices_for(calls), data).gains


def stored(folder: Path, preset: str) -> Labelled:
    """Read a file of stored draws."""
    import pandas as pd  # noqa: PLC0415 - fresh prompts need none

    frame = pd.read_parquet(folder / FILES[preset])
    draws = frame[[f"draw_{k}" for k in range(9)]].to_numpy().reshape(-1, 4, 9)
    return Labelled(draws, frame["oracle_label"].to_numpy().reshape(-1, 4))


def on_stored(data: Labelled, orders: int) -> dict[str, Any]:
    """Learn from the first 500 prompts and score the rest, averaged over several orders in which ties are broken."""
    pilot, rest = data.draws[:PILOT, :, :PILOT_DRAWS], Labelled(data.draws[PILOT:], data.labels[PILOT:])
    model, exchangeable = DrawModel.fit(pilot), learn_ocba(pilot)
    voi = [replay(rest.draws, model.prior, seed=seed) for seed in range(orders)]
    rival = [ocba(rest.draws, exchangeable, seed=seed) for seed in range(orders)]
    rows = []
    for calls in MEAN_CALLS:
        spent = [at_prices(one, model.prices_for(calls), rest) for one in voi]
        mine = np.mean([one.gains for one in spent], axis=0)
        theirs = np.mean([at_calls(r, one.calls, rest) for r, one in zip(rival, spent, strict=True)], axis=0)
        rows.append(
            {"asked": calls, "spent": float(np.mean([one.calls for one in spent])), VOI: summary(mine)}
            | {OCBA: summary(theirs), "difference": summary(mine - theirs)}
        )
    fixed = {f"every candidate {k} times": [uniform(rest.draws, k)] for k in (1, 2, 5, 9)}
    for name, repick in (("the paper's rule", False), ("the paper's rule, re-picking", True)):
        fixed[name] = [paper(rest.draws, repick=repick, seed=seed) for seed in range(orders)]
    return {"rows": rows, "others": [other(name, picked, voi, rest) for name, picked in fixed.items()]}


def other(name: str, picked: list[Picked], voi: list[Replay], data: Labelled) -> dict[str, Any]:
    """Return how a rule without a price does, and value of information at the calls that it took."""
    calls = float(np.mean([one.calls.mean() for one in picked]))
    gains = np.mean([data.gains(one.top) for one in picked], axis=0)
    row: dict[str, Any] = {"rule": name, "calls": calls, "recovery": summary(gains)}
    least, *_, most = voi[0].curve().calls
    if least < calls < most:
        row["difference"] = summary(np.mean([at_calls(one, calls, data) for one in voi], axis=0) - gains)
    return row


def summary(gains: Floats) -> dict[str, float]:
    """Return the mean and its standard error over prompts."""
    return {"mean": float(gains.mean()), "se": float(gains.std(ddof=1) / np.sqrt(len(gains)))}


def on_pilots(preset: str, pilots: int, prompts: int, seed: int) -> dict[str, Any]:
    """Learn both rules from each of several pilots; score all on one large sample of fresh prompts."""
    fresh = simulate(preset, n=prompts, seed=seed)
    data = Labelled(fresh.draws, fresh.labels)
    total = np.zeros((len(MEAN_CALLS), prompts))
    means, base, spent = (np.empty((pilots, len(MEAN_CALLS))) for _ in range(3))
    for number in range(pilots):
        pilot = simulate(preset, n=PILOT, seed=seed + 1 + number, draws=PILOT_DRAWS).draws
        model = DrawModel.fit(pilot)
        voi = replay(data.draws, model.prior, seed=number)
        plain = ocba(data.draws, learn_ocba(pilot), seed=number)
        for at, calls in enumerate(MEAN_CALLS):
            mine = at_prices(voi, model.prices_for(calls), data)
            theirs = at_calls(plain, mine.calls, data)
            total[at] += (mine.gains - theirs) / pilots
            means[number, at], base[number, at] = (mine.gains - theirs).mean(), theirs.mean()
            spent[number, at] = mine.calls
    rows = []
    for at, calls in enumerate(MEAN_CALLS):
        over, of_calls = (float(one[:, at].std(ddof=1)) if pilots > 1 else float("inf") for one in (means, spent))
        both = float(np.hypot(summary(total[at])["se"], over / np.sqrt(pilots)))
        rows.append(
            {"asked": calls, "spent": float(spent[:, at].mean()), "sd_of_spent": of_calls}
            | {OCBA: float(base[:, at].mean()), "gain": float(means[:, at].mean())}
            | {"sd_over_pilots": over, "se_over_prompts": summary(total[at])["se"], "se": both}
        )
    return {"preset": preset, "pilots": pilots, "prompts": prompts, "seed": seed, "rows": rows}


def on_law(law: str, pilots: int, prompts: int, seed: int) -> dict[str, Any]:
    """Play all rules on fresh prompts of a law, at the mean numbers of `PASSES`, after each of several pilots."""
    data = Labelled(*drawn(law, prompts, seed))
    candidates = data.draws.shape[1]
    ahead = np.empty((len(RIVALS), len(PASSES), pilots, prompts))
    for number in range(pilots):
        pilot = drawn(law, PILOT, seed + 1 + number)[0][:, :, :PILOT_DRAWS]
        learnt = learn_ocba(pilot)
        voi = replay(data.draws, DrawModel.fit(pilot).prior, seed=number)
        played = [rule(data.draws, learnt, seed=number) for rule in (ocba, top_two)]
        for at, passes in enumerate(PASSES):
            calls = round(passes * candidates)
            rivals = [at_calls(one, calls, data) for one in played]
            rivals.append(data.gains(halving(data.draws, calls, seed=number).top))
            ahead[:, at, number] = at_calls(voi, calls, data) - np.array(rivals)
    of_pilots = ahead.mean(axis=3)
    se = np.sqrt(
        of_pilots.var(axis=2, ddof=1) / pilots + ahead.mean(axis=2).var(axis=2, ddof=1) / prompts
        if pilots > 1
        else np.full(of_pilots.shape[:2], np.inf)
    )
    rows = [
        {"passes": passes, "rival": rival, "ahead": float(of_pilots[which, at].mean()), "se": float(se[which, at])}
        for which, rival in enumerate(RIVALS)
        for at, passes in enumerate(PASSES)
    ]
    return {"law": law, "rows": rows}


def laws_text(played: list[dict[str, Any]]) -> str:
    """Render how far ahead value of information is over the laws, by rival."""
    lines = []
    for rival in RIVALS:
        lines += ["", f"recovery ahead of {rival} (se), by mean calls in first passes", ""]
        lines += [f"| law | {' | '.join(f'{passes:g}' for passes in PASSES)} |", "|---" * (1 + len(PASSES)) + "|"]
        every = []
        for law in played:
            rows = [row for row in law["rows"] if row["rival"] == rival]
            every += [row["ahead"] for row in rows]
            cells = [f"{row['ahead']:+.4f} ({row['se']:.4f})" for row in rows]
            lines.append(f"| {law['law']} | {' | '.join(cells)} |")
        lines.append(f"\nmean over laws and calls: {np.mean(every):+.4f}")
    return "\n".join(lines)


def stored_text(preset: str, found: Mapping[str, Any]) -> str:
    """Render what was found on stored draws."""
    lines = [f"\n{preset}, stored draws", f"| asked | spent | {VOI} | {OCBA} | difference |", "|---|---|---|---|---|"]
    for row in found["rows"]:
        cells = (said(row[VOI]), said(row[OCBA]), said(row["difference"], signed=True))
        lines.append(f"| {row['asked']:g} | {row['spent']:.2f} | {' | '.join(cells)} |")
    lines += ["", f"| rule | mean calls | recovery | {VOI} at these calls |", "|---|---|---|---|"]
    for row in found["others"]:
        difference = said(row["difference"], signed=True) if "difference" in row else "-"
        lines.append(f"| {row['rule']} | {row['calls']:.2f} | {said(row['recovery'])} | {difference} |")
    return "\n".join(lines)


def pilots_text(found: Mapping[str, Any]) -> str:
    """Render what was found over several pilots."""
    head = f"\n{found['preset']}, {found['pilots']} pilots of {PILOT}, scored on {found['prompts']:,} fresh prompts"
    lines = [head, f"| asked | spent | sd | {OCBA} | gain | se | sd over pilots |", "|---|---|---|---|---|---|---|"]
    for row in found["rows"]:
        figures = f"{row[OCBA]:.4f} | {row['gain']:+.4f} | {row['se']:.4f} | {row['sd_over_pilots']:.4f}"
        lines.append(f"| {row['asked']:g} | {row['spent']:.2f} | {row['sd_of_spent']:.2f} | {figures} |")
    return "\n".join(lines)


def said(found: Mapping[str, float], *, signed: bool = False) -> str:
    """Write a mean and its standard error."""
    return f"{found['mean']:{'+' if signed else ''}.4f} (se {found['se']:.4f})"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(os.environ.get("BONWISE_SHARED") or Path(__file__).parents[2] / "shared")
    parser.add_argument("--data", type=Path, default=shared / "data" / "simulated", help="folder of the stored draws")
    parser.add_argument("--orders", type=int, default=8, help="orders in which ties are broken, averaged over")
    parser.add_argument("--pilots", type=int, default=0, help="pilots of fresh prompts, in place of stored draws")
    parser.add_argument("--prompts", type=int, default=200_000, help="fresh prompts that score them")
    parser.add_argument("--laws", nargs="*", metavar="LAW", help="over laws of scatter: all, or these")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--json", type=Path, help="write the figures here")
    settings = parser.parse_args()
    if settings.laws is not None:
        names = settings.laws or list(LAWS)
        played = [on_law(law, settings.pilots or 5, settings.prompts, settings.seed) for law in names]
        print(laws_text(played))
        if settings.json:
            settings.json.write_text(json.dumps(played, indent=2) + "\n", encoding="utf-8")
        return
    missing = [] if settings.pilots else [name for name in FILES.values() if not (settings.data / name).is_file()]
    if missing:
        parser.error(f"{settings.data} holds no {' and no '.join(missing)}; name their folder with --data")
    found: dict[str, Any] = {}
    for preset in FILES:
        if settings.pilots:
            found[preset] = on_pilots(preset, settings.pilots, settings.prompts, settings.seed)
            print(pilots_text(found[preset]), flush=True)
        else:
            found[preset] = on_stored(stored(settings.data, preset), settings.orders)
            print(stored_text(preset, found[preset]), flush=True)
    if settings.json:
        settings.json.write_text(json.dumps(found, indent=2, allow_nan=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
