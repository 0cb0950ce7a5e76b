"""Tables and figures of Landesberg (2026), arXiv:2603.12520, beside what bonwise makes of data at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from reproduction_data import EXTERNAL, JUDGES, STATED
from reproduction_sections import Json, Paper, Row, Section, figure, metrics, plain

NAME = "best-of-n-judges"
ARENA = "simulated/arena_like_5000.csv.gz"
SIMULATED = (
    "The paper's 5,000 prompts are not published. Ours are a simulation that was fitted to the paper's tables, so "
    "the level of each figure agrees by construction, and its interval and its relation to the others are what is "
    "tested."
)


def pairs(names: Sequence[tuple[str, str, str, str]]) -> Callable[[Json], Iterator[Row]]:
    """Return rows of an audit: what it is called, theirs, metric, style."""

    def rows(audit: Json) -> Iterator[Row]:
        for called, theirs, metric, style in names:
            yield called, theirs, figure(metrics(audit)[metric], style)

    return rows


def four_levels(audit: Json) -> Iterator[Row]:
    """Return the state of each kind of validity."""
    for level, state in audit["verdict"]["checks"].items():
        yield f"{level} validity", "defined, not decided", state


def matched_pairs(study: Json) -> Iterator[Row]:
    """Return what scores and verdicts do on the same pairs."""
    ways = study["judges"]["judge"]["matched_pairs"]["ways"]
    theirs = {"pointwise": ("59.8%", "75.2%", "60.5%", "21.1%"), "pairwise": ("3.9%", "81.1%", "80.6%", "61.2%")}
    names = ("tie_rate", "sign_agreement", "effective_agreement_decided", "recovery")
    for way, values in theirs.items():
        for name, value in zip(names, values, strict=True):
            yield f"{way}, {name}", value, figure(ways[way]["metrics"][name], "share")


def asked_ways(names: Sequence[tuple[str, str, Sequence[tuple[str, str]]]]) -> Callable[[Json], Iterator[Row]]:
    """Return rows of a study of ways to ask: what it is called, way, and theirs by metric."""

    def rows(study: Json) -> Iterator[Row]:
        ways = study["judges"]["judge"]["strategies"]["every_pair"]["strategies"]
        for called, way, values in names:
            for metric, value in values:
                style = "number" if metric == "within_r" or metric.startswith("gain") else "share"
                yield f"{called}, {metric}", value, figure(ways[way]["metrics"][metric], style, 4)

    return rows


def needed(theirs: dict[float, tuple[str, str]]) -> Callable[[Json], Iterator[Row]]:
    """Return what a wanted recovery needs."""

    def rows(study: Json) -> Iterator[Row]:
        for target in study["judges"]["judge"]["targets"]:
            agreement, within_r = theirs[target["target"]]
            wanted = plain(target["target"], "share")
            yield f"recovery {wanted}, agreement", agreement, figure(target["effective_agreement"], "share")
            yield f"recovery {wanted}, within r", within_r, figure(target["within_r"])

    return rows


def regimes(study: Json) -> Iterator[Row]:
    """Return the ends of the curve: hard candidates alone, and with the easy one."""
    points = study["judges"]["judge"]["points"]
    theirs = {0: ("0.47", "67.6%", "21.0%"), 10: ("0.82", "88.2%", "67.2%")}
    names = (("global_r", "number"), ("sign_agreement", "share"), ("recovery", "share"))
    for at, values in theirs.items():
        called = "similar candidates only" if at == 0 else "with the bad candidate"
        for (metric, style), value in zip(names, values, strict=True):
            yield f"{called}, {metric}", value, figure(points[at]["metrics"][metric], style)


def easy_curve(study: Json) -> Iterator[Row]:
    """Return the last point: easy pairs and nothing else."""
    last = study["judges"]["judge"]["points"][-1]["metrics"]
    yield "global r, easy pairs alone", "up to 0.89", figure(last["global_r"])
    yield "sign agreement, easy pairs alone", "98.2%", figure(last["sign_agreement"], "share")


def judges(audit: Json) -> Iterator[Row]:
    """Return the recovery of each judge; the other figures were fitted."""
    theirs = ("69.4%", "47.7%", "43.6%", "23.8%", "18.6%")
    for judge, recovery in zip(JUDGES, theirs, strict=True):
        yield f"{judge}, recovery", recovery, figure(metrics(audit, judge)["recovery"], "share")


def all_of_judges(audit: Json) -> Iterator[Row]:
    """Return every column of the table."""
    theirs = {"GPT-5.2": "76.5%", "Claude Sonnet 4": "77.7%", "GPT-4.1-mini": "74.8%", "Gemini-2.5-flash": "66.4%"}
    theirs["Llama-3.3-70b"] = "60.4%"
    for judge, (global_r, within_r, ties) in JUDGES.items():
        measured = metrics(audit, judge)
        yield f"{judge}, global r", f"{global_r:.3f}", figure(measured["global_r"])
        yield f"{judge}, within r", f"{within_r:.3f}", figure(measured["within_r"])
        yield f"{judge}, tie rate", plain(ties, "share"), figure(measured["tie_rate"], "share")
        yield f"{judge}, sign agreement", theirs[judge], figure(measured["sign_agreement"], "share")


def calibrated(study: Json) -> Iterator[Row]:
    """Return sign agreement before and after calibration."""
    judge = study["judges"]["judge"]
    yield "no calibration", "66.3%", figure(judge["raw"]["metrics"]["sign_agreement"], "share")
    for method, theirs in (("isotonic", "66.5%"), ("gradient_boosting", "58.8% (with covariates)")):
        if method in judge["methods"]:
            yield method, theirs, figure(judge["methods"][method]["metrics"]["sign_agreement"], "share")


def over_judges(study: Json) -> Iterator[Row]:
    """Return the mean change over judges."""
    theirs = {
        "isotonic": ("+23%", "+10%", "+0.8 points", "-0.3 points"),
        "two_stage": ("+24%", "+10%", "+0.3 points", "-0.3 points"),
        "two_stage_covariates": ("+38%", "+17%", "-3.7 points", "+2.6 points"),
    }
    names = (("global_r", "number"), ("within_r", "number"), ("sign_agreement", "share"), ("recovery", "share"))
    for method, values in theirs.items():
        changes = study["over_judges"][method]["changes"]
        for (metric, style), value in zip(names, values, strict=True):
            yield f"{method}, change of {metric}", value, figure(changes[metric], style)


def of_reference(audit: Json) -> Iterator[Row]:
    """Return what a judge is worth when the strongest one is the reference."""
    theirs = {"GPT-4.1-mini": ("0.84", "0.54", "35%", "52%"), "Llama-3.3-70b": ("0.49", "0.29", "42%", "2%")}
    names = (("global_r", "number"), ("within_r", "number"), ("inflation", "share"), ("recovery", "share"))
    labels = {"GPT-4.1-mini": "GPT-5-mini", "Llama-3.3-70b": "GPT-4.1-nano"}
    for judge, values in theirs.items():
        for (metric, style), value in zip(names, values, strict=True):
            ours = figure(metrics(audit, judge)[metric], style)
            yield f"{metric}: {labels[judge]} there, {judge} here", value, ours


def quantised(study: Json, name: str, theirs: tuple[str, str, str]) -> Iterator[Row]:
    """Return scores and scores in 20 bins."""
    ways = study["judges"]["judge"]["strategies"]["every_pair"]["strategies"]
    for metric, value in zip(("within_r", "tie_rate", "recovery"), theirs, strict=True):
        style = "number" if metric == "within_r" else "share"
        ours = " / ".join(
            plain(ways[way]["metrics"][metric]["estimate"], style) for way in ("pointwise", "quantised")
        )
        yield f"{name}, {metric}, scores / 20 bins", value, ours


def external(*studies: Json) -> Iterator[Row]:
    """Return the three sets."""
    theirs = (
        ("0.303 / 0.310", "37.0% / 37.0%", "31.8% / 31.8%"),
        ("0.630 / 0.633", "19.4% / 19.4%", "86.7% / 86.7%"),
        ("0.618 / 0.618", "31.7% / 31.7%", "49.5% / 49.5%"),
    )
    for study, name, values in zip(studies, EXTERNAL, theirs, strict=True):
        yield from quantised(study, name, values)


def cut(study: Json) -> Iterator[Row]:
    """Return recovery and agreement by the number of bins."""
    theirs = {
        None: ("57.6%", "61.8%"),
        100: ("57.3%", "61.8%"),
        20: ("54.9%", "61.6%"),
        10: ("51.1%", "60.9%"),
        5: ("40.8%", "58.9%"),
    }
    for row in study["judges"]["judge"]["rows"]:
        if row["scale"] in {"continuous", "range"} and row["bins"] in theirs:
            called = "uncut" if row["bins"] is None else f"{row['bins']} bins"
            recovery, agreement = theirs[row["bins"]]
            yield f"{called}, recovery", recovery, figure(row["metrics"]["recovery"], "share")
            yield f"{called}, agreement", agreement, figure(row["metrics"]["effective_agreement"], "share")
        elif row["scale"] in {"own", "judge"}:
            called = {"own": "the judge's own values", "judge": "the judge itself"}[row["scale"]]
            yield f"{called}, recovery", "none", figure(row["metrics"]["recovery"], "share")


def strategies(*studies: Json) -> Iterator[Row]:
    """Return calls, hit rate and recovery of three strategies."""
    theirs = {
        "greedy": ("4.0 calls, 48.4%", "greedy"),
        "adaptive:repick=false": ("7.7 calls, 51.0%", "adaptive, the pair chosen once"),
        "resample": ("20.0 calls, 51.4%", "5 draws"),
    }
    for name, study in zip(("pilot", "one model"), studies, strict=True):
        for row in study["judges"]["judge"]["rows"]:
            if row["strategy"] in theirs:
                value, called = theirs[row["strategy"]]
                hits = plain(row["hit_rate"]["estimate"], "share")
                recovery = figure(row["recovery"], "share")
                yield f"{name}: {called}", value, f"{row['calls']:.1f} calls, {hits}; recovery {recovery}"


def six_points(readiness: Json) -> Iterator[Row]:
    """Return the state of each point."""
    asked = ("decision target", "within-prompt metrics", "hard regime", "pairwise", "uncertainty", "threshold")
    for name, point in zip(asked, readiness["judges"]["judge"].values(), strict=True):
        yield name, "a question", point["state"]


def two_regimes(comparison: Json) -> Iterator[Row]:
    """Return differences of two audits."""
    theirs = {"global_r": "-0.09", "within_r": "+0.03", "inflation": "-21 points", "recovery": "+9 points"}
    for metric, value in theirs.items():
        style = "share" if metric in {"inflation", "recovery"} else "number"
        difference = comparison["judges"]["judge"]["differences"][metric]
        yield f"difference of {metric}", value, figure(difference, style)


def at_share(study: Json, signal: str, share: float, key: str = "value") -> float:
    """Return a figure of a signal at a share."""
    shares = study["perfect"] if signal == "perfect" else study["signals"][signal]["shares"]
    return next(point[key] for point in shares if point["share"] == share)


def by_margin(study: Json) -> Iterator[Row]:
    """Return the value at three shares: at random, by margin, in the best order."""
    theirs = {0.10: ("0.785", "0.785", "0.814"), 0.25: ("0.795", "0.796", "0.834"), 0.5: ("0.812", "0.814", "0.845")}
    for share, (drawn, margin, best) in theirs.items():
        value, lift = at_share(study, "margin", share), at_share(study, "margin", share, "lift")
        yield f"{plain(share, 'share')} at random", drawn, plain(value - lift)
        yield f"{plain(share, 'share')} by margin", margin, plain(value)
        yield f"{plain(share, 'share')} in the best order", best, plain(at_share(study, "perfect", share))


def by_two_signals(study: Json) -> Iterator[Row]:
    """Return what margin and mean score capture together."""
    for share, value, captured in ((0.1, "0.788", "11%"), (0.25, "0.802", "18%"), (0.5, "0.822", "31%")):
        yield f"{plain(share, 'share')}, value", value, plain(at_share(study, "margin_level", share))
        point = at_share(study, "margin_level", share, "captured")
        yield f"{plain(share, 'share')}, captured", captured, plain(point, "share")


def gain_cells(study: Json) -> Iterator[Row]:
    """Return the mean gain by margin and mean score."""
    theirs = (
        ("0.124", "0.092", "0.081", "0.052"),
        ("none", "none", "0.044", "0.043"),
        ("0.127", "0.055", "0.044", "0.036"),
        ("0.063", "0.076", "0.103", "none"),
    )
    margins, levels = ("0 (tie)", "0 to .05", ".05 to .10", "above .10"), ("<.7", ".7 to .8", ".8 to .9", ">.9")
    for margin, cells, values in zip(margins, study["gain_by_margin_and_level"], theirs, strict=True):
        for level, cell, value in zip(levels, cells, values, strict=True):
            if cell is not None and cell["n"]:
                yield f"margin {margin}, mean score {level}", value, figure(cell)


def uncertainty(study: Json) -> Iterator[Row]:
    """Return correlations of signals with the gain."""
    theirs = {"margin": "-0.01 [-0.11, 0.10]", "draw_sd": "0.26 [0.16, 0.36]", "interval_width": "0.26 [0.15, 0.36]"}
    for signal, value in theirs.items():
        yield f"{signal}, correlation with gain", value, figure(study["signals"][signal]["corr_gain"])


def at_a_quarter(study: Json) -> Iterator[Row]:
    """Return what a quarter of the prompts captures by each signal."""
    for signal, theirs in (("margin", "5%"), ("interval_width", "26%"), ("draw_sd", "similar")):
        yield f"{signal}, captured", theirs, plain(at_share(study, signal, 0.25, "captured"), "share")


def decomposed(study: Json) -> Iterator[Row]:
    """Return correlations over groups of prompts by each signal."""
    theirs = {"interval_width": ("+0.33", "+0.97", "+0.96"), "draw_sd": ("-0.22", "+0.98", "+0.97")}
    for signal, values in theirs.items():
        across = study["signals"][signal]["decomposition"]["across_bins"]
        for factor, value in zip(("wrong", "gap", "gain"), values, strict=True):
            ours = "undefined" if across[factor] is None else f"{across[factor]:+.2f}"
            yield f"{signal}, groups, correlation with {factor}", value, ours


def partly(*audits: Json) -> Iterator[Row]:
    """Return the estimate from fewer and fewer labels."""
    theirs = ("21.0% [18.8%, 23.2%]", "20.0% [17.0%, 23.0%]", "22.2% [18.1%, 26.2%]", "23.2% [17.3%, 29.1%]")
    for audit, share, value in zip(audits, ("100%", "50%", "25%", "10%"), theirs, strict=True):
        yield f"{share} of the prompts labelled", value, figure(metrics(audit)["recovery"], "share")


def designs(study: Json) -> Iterator[Row]:
    """Return variances over those of labels drawn at random."""
    theirs = {"margin": ("1.20", "2.00"), "label_spread": ("0.55", "0.23"), "optimum": ("none", "none")}
    for design, values in theirs.items():
        for share, value in zip(study["designs"][design]["shares"], values, strict=True):
            ours = f"{share['labels_only']:.2f}"
            yield f"{design}, {plain(share['share'], 'share')} labelled", value, ours


def stated(study: Json) -> Iterator[Row]:
    """Return the error of each bin, and their mean."""
    theirs = {
        "elicited": ("0.05", "0.12", "0.10", "0.23", "0.12"),
        "logprob": ("0.29", "0.26", "0.11", "0.33", "0.37"),
    }
    means = {"elicited": "0.12", "logprob": "0.27"}
    for way in STATED:
        errors = study["judges"][way]
        for number, (each, value) in enumerate(zip(errors["bins"], theirs[way], strict=True)):
            yield f"{way}, P in [{0.2 * number:.1f}, {0.2 * number + 0.2:.1f}]", value, figure(each["error"])
        yield f"{way}, mean of the bins", means[way], figure(errors["metrics"]["mean_bin_error"])


AUDIT = f"bonwise audit {ARENA}"
ROUTE = f"bonwise route {ARENA}"
PILOT = "bonwise route simulated/pilot_like_20000.parquet"
FIVE = "bonwise audit made/judges.csv"
NEEDS = f"bonwise study requirements {ARENA} --target 25% --target 50% --target 75%"
FITTED = (
    "Judges are simulated from the published global r, within r and tie rate. Recovery was not fitted: that it comes "
    "within a few points says that these three numbers nearly determine it."
)

SECTIONS = [
    Section(
        f"Table 1 ({NAME})",
        "Definitions of eight metrics. An audit computes all of them, and thirteen more.",
        "Definitions, so there is nothing to compare. `metrics.md` has each with its formula.",
        [f"{AUDIT} --full"],
    ),
    Section(
        f"Figure 1 ({NAME})",
        "A sketch: scores follow the prompt's level and the candidate's quality; picks use only the second.",
        "A sketch without numbers. The audit prints both paths: global r, within r and the share between prompts.",
        [f"{AUDIT} --full"],
    ),
    Section(
        f"Table 2 ({NAME})",
        "The main result: a judge that correlates .47 recovers a fifth.",
        SIMULATED,
        [AUDIT],
        pairs(
            (
                ("global r", "0.471", "global_r", "number"),
                ("within r", "0.267 [0.234, 0.297]", "within_r", "number"),
                ("attenuation", "0.180 [0.155, 0.204]", "attenuation", "number"),
                ("sign agreement", "67.6% [66.3%, 68.9%]", "sign_agreement", "share"),
                ("Kendall's tau-b", "0.260 [0.24, 0.28]", "kendall_tau", "number"),
                ("effective agreement", "55.2%", "effective_agreement", "share"),
                ("recovery", "21.0% [18.9%, 23.3%]", "recovery", "share"),
                ("top-1 accuracy", "31.6% [30.9%, 32.3%]", "top1_accuracy", "share"),
            )
        ),
    ),
    Section(
        f"Table 3 ({NAME})",
        "Most of the variance of scores and labels lies between prompts. The table of Appendix L is the same.",
        SIMULATED,
        [AUDIT],
        pairs(
            (
                ("judge, between prompts", "74%", "judge_between_share", "share"),
                ("labels, between prompts", "81%", "oracle_between_share", "share"),
            )
        ),
    ),
    Section(
        f"Figure 2 ({NAME})",
        "Differences of scores and of labels within prompts: how many are 0. The page of an audit draws them.",
        SIMULATED + " The paper says that 99 % of prompts tie at the top, in another sentence that 67 % of pairs do. "
        "With 21 values and 66 % tied pairs, 77 % of our prompts tie at the top: 99 % needs other candidates.",
        [AUDIT],
        pairs(
            (
                ("tied pairs, judge", "66.5%", "tie_rate", "share"),
                ("tied pairs, labels", "16.1%", "oracle_tie_rate", "share"),
                ("prompts tied at the top", "99%", "top1_tie_rate", "share"),
            )
        ),
    ),
    Section(
        f"Table 4 ({NAME})",
        "Scores and verdicts on the same pairs, best of two.",
        "The paper's 7,000 pairs are not published. Ours are 6,000 pairs of the simulated arena with verdicts "
        "that are right in 66 % of the pairs with the smallest gap and in 94 % of those with the largest, as its "
        "section 5.4 says. Its pairs contain 500 with a bad answer, which raise the recovery of scores; ours "
        "contain none.",
        ["bonwise study label-strategy made/arena_pairs.csv --verdicts made/arena_verdicts.csv"],
        matched_pairs,
    ),
    Section(
        f"Table 5 ({NAME})",
        "Three ways of asking, best of four.",
        "Here every pair of a prompt has a verdict. The paper has all six for .02 % of its prompts, and its row "
        "counts those without a verdict as one half, so its recovery of 51.3 % is that of an incomplete "
        "tournament.",
        ["bonwise study label-strategy made/arena_pairs.csv --verdicts made/arena_verdicts.csv"],
        asked_ways(
            (
                (
                    "pointwise",
                    "pointwise",
                    (("within_r", "0.267"), ("tie_rate", "65.1%"), ("top1_accuracy", "31.8%"), ("recovery", "20.7%")),
                ),
                (
                    "20 bins",
                    "quantised",
                    (("within_r", "0.267"), ("tie_rate", "65.2%"), ("top1_accuracy", "31.8%"), ("recovery", "20.7%")),
                ),
                (
                    "verdicts (Borda)",
                    "pairwise",
                    (("within_r", "0.359"), ("tie_rate", "41.2%"), ("top1_accuracy", "40.8%"), ("recovery", "51.3%")),
                ),
            )
        ),
    ),
    Section(
        f"Table 6 ({NAME})",
        "The judge that a wanted recovery needs.",
        "The labels differ, and so does the shape of their pools. On the paper's own figures its judge (within r "
        ".27) recovers 21 %, while this table says that .17 gives 25 %: the table is a law of plain noise, and "
        "the judge lies under it. `study requirements` prints both, and the distance.",
        [NEEDS],
        needed({0.25: ("54%", "0.17"), 0.5: ("60%", "0.42"), 0.75: ("69%", "0.76")}),
    ),
    Section(
        f"Table 7 ({NAME})",
        "The same judge without and with a candidate that anyone can tell apart.",
        "Ours are 99 published prompts of the same source with their bad candidate. The paper has 5,000.",
        ["bonwise study mix arena100/scores.csv --control unhelpful"],
        regimes,
    ),
    Section(
        f"Figure 3 ({NAME})",
        "As easy pairs are added, global r and sign agreement rise. The page of the study draws the curve.",
        "99 prompts instead of 5,000; the direction and the end of the curve agree.",
        ["bonwise study mix arena100/scores.csv --control unhelpful"],
        easy_curve,
    ),
    Section(f"Table 8 ({NAME})", "Five judges on 500 prompts.", FITTED, [FIVE], judges),
    Section(
        f"Table 9 ({NAME})",
        "Two uses of a judge: ranking systems, and picking within a prompt. `--target system` asks the first.",
        "The paper prints words. `--target` makes the audit decide by the one or by the other.",
        [f"{AUDIT} --target system"],
        lambda audit: iter([("verdict for ranking systems", "words", audit["verdict"]["level"])]),
    ),
    Section(
        f"Table 10 ({NAME})",
        "Four kinds of validity, of which a judge can have each without the others.",
        "The paper defines them. An audit decides each of them by a threshold that you can set.",
        [f"{AUDIT} --full"],
        four_levels,
    ),
    Section(
        f"Table 11 ({NAME})",
        "Calibration does not mend the order of candidates.",
        SIMULATED + " There are no covariates here, so gradient boosting has none to overfit; Table 29 has one.",
        [f"bonwise study calibration {ARENA}"],
        calibrated,
    ),
    Section(
        f"Table 12 ({NAME})",
        "Answers that are right or wrong: 512 prompts of 32 candidates.",
        "Global r, within r, tied pairs and the share between prompts are fitted; recovery is not. Ours is "
        "higher: with 32 candidates of which half are right, picking by any signal that correlates .30 recovers "
        "half. The paper's 30 % needs fewer right answers per prompt, or errors that many candidates share.",
        ["bonwise audit made/ppe_math.csv"],
        pairs(
            (
                ("global r", "0.38", "global_r", "number"),
                ("within r", "0.30", "within_r", "number"),
                ("inflation", "22%", "inflation", "share"),
                ("recovery", "30%", "recovery", "share"),
                ("variance of labels between prompts", "30%", "oracle_between_share", "share"),
            )
        ),
    ),
    Section(
        f"Table 13 ({NAME})",
        "A stronger judge as the reference. The output then says 'agreement with', not 'your labels'.",
        "The paper's scores are not published and its judges are others. Ours are those of Table 28, so the "
        "procedure agrees and the figures need not.",
        ["bonwise audit made/judges.csv --oracle judge:GPT-5.2"],
        of_reference,
    ),
    Section(
        f"Table 14 ({NAME})",
        "24 prompts of four draws of one model.",
        "Fitted to the published correlations and ties. The interval is what matters here: at 24 prompts every "
        "recovery from below 0 to nearly one half is possible, which the paper says in words and does not print.",
        ["bonwise audit made/fresh.csv"],
        pairs(
            (
                ("global r", "0.70", "global_r", "number"),
                ("within r", "0.29", "within_r", "number"),
                ("tied pairs", "69.4%", "tie_rate", "share"),
                ("top-1 accuracy", "27.4%", "top1_accuracy", "share"),
                ("recovery", "2.2%", "recovery", "share"),
            )
        ),
    ),
    Section(
        f"Table 15 ({NAME})",
        "Scores and scores in 20 bins on three other sets.",
        "Simulated at the published within r and tie rate. Our coarse judges use 7 to 10 values, so 20 bins change "
        "nothing, as there. Recovery was not fitted, and depends on how many answers of a pool are right.",
        [
            f"bonwise study label-strategy made/{name}.csv --verdicts made/{name}_verdicts.csv"
            for name in ("ppe_math_4", "rewardbench2", "helpsteer2")
        ],
        external,
    ),
    Section(
        f"Table 16 ({NAME})",
        "Scores against all pairs under a budget of tokens, 100 prompts of GPT-4.1-mini.",
        "Scores are fitted to Table 28 and tokens to this table; verdicts are right in 50 to 64 % of the pairs, "
        "chosen so that they recover little, because the paper prints no accuracy. What is compared is the "
        "account: gain per 1,000 tokens. Its 6 calls are one order of each pair; every pair in both orders takes "
        "12.",
        ["bonwise study label-strategy made/budget.csv --verdicts made/budget_verdicts.csv"],
        asked_ways(
            (
                ("pointwise", "pointwise", (("recovery", "26.2%"), ("gain_per_1000_tokens", "0.01055"))),
                ("every pair", "pairwise", (("recovery", "12.3%"), ("gain_per_1000_tokens", "0.00206"))),
                ("some pairs, as many calls", "sparse_one_order", (("recovery", "14.5%"),)),
            )
        ),
    ),
    Section(
        f"Table 17 ({NAME})",
        "Sending the prompts with the smallest margin on, against sending as many at random.",
        SIMULATED + " The paper's own table needs margins above 0 on many prompts, which the 99 % of ties at the top "
        "that it reports forbid.",
        [ROUTE],
        by_margin,
    ),
    Section(
        f"Table 18 ({NAME})",
        "Mean gain of asking, by margin and mean score.",
        SIMULATED + " The direction agrees: a low mean score promises gain at every margin.",
        [ROUTE],
        gain_cells,
    ),
    Section(
        f"Table 19 ({NAME})",
        "Routing by margin and mean score together.",
        SIMULATED + " The rule is learnt on other prompts than those it is measured on.",
        [ROUTE],
        by_two_signals,
    ),
    Section(
        f"Table 20 ({NAME})",
        "Which statement of uncertainty goes along with the gain.",
        "Ours are 20,000 prompts simulated at the pilot's figures, so intervals are narrower. The correlation "
        "with the margin has the paper's sign turned: a signal here is high where a prompt should be sent on.",
        [PILOT],
        uncertainty,
    ),
    Section(
        f"Table 21 ({NAME})",
        "What a quarter of the prompts captures by each signal.",
        "As Table 20.",
        [PILOT],
        at_a_quarter,
    ),
    Section(
        f"Table 22 ({NAME})",
        "Gain as the chance to be wrong times the loss when wrong, over five groups of prompts.",
        "As Table 20. Correlations over five groups are near 1 for any signal that goes along with the gain, because "
        "grouping averages the noise out; `route` prints them beside those over prompts.",
        [PILOT],
        decomposed,
    ),
    Section(
        f"Table 23 ({NAME})",
        "Recovery from labels on a part of the prompts (AIPW).",
        "A simulated arena of another seed, so that the full estimate differs from Table 2; labels are drawn alike.",
        [
            "bonwise audit made/arena.csv",
            "bonwise audit made/half.csv",
            "bonwise audit made/quarter.csv",
            "bonwise audit made/tenth.csv",
        ],
        partly,
    ),
    Section(
        f"Table 24 ({NAME})",
        "Variance of recovery under three ways to draw prompts for labels, over that of drawing at random.",
        "Drawing by the root of the spread of labels is not the optimum, as the paper's word 'oracle-optimal' has "
        "it: the optimum weighs the influence of a prompt on recovery. Drawing by margin is worse than at random "
        "in both.",
        [f"bonwise labels compare {ARENA} --share 25% --share 50%"],
        designs,
    ),
    Section(
        f"Table 25 ({NAME})",
        "Table 6 with one row more. Figure 4 draws it, and so does the page of the study.",
        "As Table 6.",
        [f"{NEEDS} --target 90%"],
        needed({0.25: ("54%", "0.17"), 0.5: ("60%", "0.42"), 0.75: ("69%", "0.76"), 0.9: ("76%", "0.92")}),
    ),
    Section(
        f"Figure 4 ({NAME})",
        "The curve behind Table 25, drawn on the page of the study.",
        "As Table 6.",
        [f"{NEEDS} --target 90%"],
        lambda study: iter(
            [
                ("within r of the judge", "0.27", figure(study["judges"]["judge"]["judge"]["within_r"])),
                ("its recovery", "21.0%", figure(study["judges"]["judge"]["judge"]["recovery"], "share")),
                (
                    "recovery of plain noise at that within r",
                    "about 36% on its curve",
                    figure(study["judges"]["judge"]["judge"]["expected_recovery"], "share"),
                ),
            ]
        ),
    ),
    Section(
        f"Table 26 ({NAME})",
        "Coarser scores at the same noise.",
        "The paper loses 2.7 points with 20 bins and reads that as the bottleneck. Ours lose one point: 20 equal "
        "bins tie a seventh of the pairs, and this judge ties two thirds, because it uses two values for four "
        "fifths of its scores. The row of the judge's own values shows what that costs, and is what a user can "
        "act on.",
        [f"bonwise study discretisation {ARENA} --rho 0.4859"],
        cut,
    ),
    Section(
        f"Table 27 ({NAME})",
        "Whether stated probabilities hold.",
        "Statements are simulated at the published means and shares of each bin, so the errors agree but for "
        "rounding. The number of statements in a bin is not published and is assumed; the intervals depend on it.",
        ["bonwise study confidence made/stated.csv"],
        stated,
    ),
    Section(f"Table 28 ({NAME})", "All columns of the five judges.", FITTED, [FIVE], all_of_judges),
    Section(
        f"Table 29 ({NAME})",
        "Mean change by calibration over the five judges.",
        "Our judges err without a pattern, so there is less to mend: +23 % of global r needs judges whose scale "
        "bends. The directions agree: monotone maps leave recovery, a covariate raises it by breaking ties.",
        ["bonwise study calibration made/judges.csv --covariate length"],
        over_judges,
    ),
    Section(
        f"Section C.5 ({NAME})",
        "Asking again only where the two best are close.",
        "The paper's accuracy is the hit rate, the share of picks among the best. Ours are 1,000 prompts of two "
        "simulations; on all 20,000 the rule takes 7.68 calls and recovers .148 (pilot), 7.24 and .283 (one "
        "model), greedy .091 and .221, five draws .197 and .362. `study strategies` plays every strategy, and "
        "recommends one at your price with an interval that holds although it was chosen.",
        ["bonwise study strategies made/pilot.csv", "bonwise study strategies made/one_model.csv"],
        strategies,
        slow=True,
    ),
    Section(
        f"Section 7.5 ({NAME})",
        "The checklist of six points, each with figures or what the table lacks.",
        "The paper asks, and prints no thresholds but within r of .4. The state of each point is decided by its "
        "interval.",
        [f"bonwise study readiness {ARENA}"],
        six_points,
    ),
    Section(
        f"Section B.1 ({NAME})",
        "Two regimes side by side: answers that are right or wrong, less the simulated arena.",
        "As Table 12. The paper prints two columns; the interval of each difference says what the samples can "
        "tell apart.",
        [f"bonwise audit made/ppe_math.csv {ARENA} --compare-regimes"],
        two_regimes,
    ),
]

NOT_HELD = (
    (
        "'87 % of the benefit at 23 % of the cost' (C.5).",
        (
            "From its own figures the adaptive rule takes (51.0 - 48.4) / (51.4 - 48.4) = 87 % of the benefit in "
            "hit rate and (7.7 - 4) / (20 - 4) = 23 % of the extra calls. In recovery it is 54 % on the simulated "
            "pilot and 46 % on the simulated single model (`simulated/pilot_like_20000.parquet`, "
            "`one_model_20000.parquet`)."
        ),
    ),
    (
        "'Accuracy 48.4 %' in C.5 beside 'top-1 accuracy 31.6 %' in Table 2.",
        (
            "They are two figures: 48.4 % is the share of picks among the best, with ties of the labels (the hit "
            "rate; ours .476). Both names are printed here."
        ),
    ),
    (
        "99 % of prompts tie at the top.",
        (
            "Tables 17 and 18 need margins above 0 on many prompts. The published sample of 99 prompts ties in 67 "
            "%, the simulated arena in 77 %."
        ),
    ),
    (
        "'A correlation of .58 with the squared residual is needed to save 20 % of the variance' (D.3).",
        "On the simulated arena a proxy with r = .40, which explains 16 %, brings the ratio to .53.",
    ),
    (
        "'Oracle-optimal' allocation (Table 24).",
        "The root of the spread of labels is not the optimum: .50 and .28 where the optimum has .14 and .055.",
    ),
    (
        "Prompts O.1 and O.2 differ in criteria.",
        "O.2 lacks 'accuracy', which O.1 asks for, so Table 4 compares two rubrics as well as two forms.",
    ),
    (
        "Responses that are long are judged better (G: 63.7 % short, 72.8 % long).",
        "On the published sample it is the reverse: sign agreement .732 (97 pairs) on short and .632 (117) on long.",
    ),
)

PAPER = Paper(
    "When LLM judge scores look good but best-of-n decisions fail",
    "Landesberg (2026), arXiv:2603.12520; here `best-of-n-judges`.",
    SECTIONS,
    NOT_HELD,
)
