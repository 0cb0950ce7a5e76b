"""Commands that ask models, answered by the scripted service; with the ledger keys of their requests."""

from __future__ import annotations

from frozen.case import Case

__all__ = ["CASES"]

_MODES = (
    "pointwise",
    "pointwise,prompt=pointwise-reason,temperature=0.7",
    "pairwise",
    "pairwise,orders=1",
    "probability",
    "interval",
    "quantized,bins=5,of=pointwise",
    "resampled,draws=3,of=pointwise",
)
_OF_LOGPROBS = ("logprob", "logprob,pairs=true")
_MODELS = {"openai": "openai/m", "anthropic": "anthropic/m"}


def _keys(name: str, modes: tuple[str, ...]) -> Case:
    """Judge two pools in every mode; the ledger of each holds the keys, the bodies and what was read."""
    lines = []
    for at, mode in enumerate(modes):
        asked = f"--judge {mode}:{_MODELS[name]} --run run{at} --raw --tokens --pairs pairs{at}.csv"
        lines += [f"judge two.jsonl {asked} --out scores{at}.csv", f"ledger export run{at} --out {at}.ledger.jsonl"]
    return Case(f"keys_{name}", "\n".join(lines), inputs=("two.jsonl",), service={}, audit=False)


_STRATEGIES = {
    "greedy": ("pointwise:openai/m", "greedy"),
    "resample": ("pointwise:openai/m", "resample:draws=3"),
    "adaptive": ("pointwise:openai/m", "adaptive:margin=0.5,max_draws=3"),
    "repick": ("interval:openai/m", "adaptive:margin=0.5,max_draws=3,repick=false"),
    "value": ("pointwise:openai/m", "value_of_information:mean_calls=4"),
    "robin": ("pairwise:openai/m", "round_robin"),
    "knockout": ("pairwise:anthropic/m", "knockout"),
    "tie_break": ("quantized,bins=2,of=pointwise:openai/m", "tie_break:of=pairwise:openai/m"),
}
_STRONG = "--strong pairwise:anthropic/s --share 0.25"

_PICKS = "".join(
    f"select pools.jsonl --judge {judge} --strategy {strategy} --run {name} --seed 2 > {name}.jsonl\n"
    for name, (judge, strategy) in _STRATEGIES.items()
)

CASES = (
    _keys("openai", (*_MODES, *_OF_LOGPROBS)),
    _keys("anthropic", _MODES),
    Case(
        "judge",
        """
        judge few.jsonl --judge pointwise:openai/m --judge local:length --run run --dry-run
        judge few.jsonl --judge pointwise:openai/m --judge local:length --run run --max-calls 6 \\
            --max-concurrency 1 --out cut.csv
        judge few.jsonl --judge pointwise:openai/m --judge local:length --run run > whole.csv
        ledger stats run --json stats.json
        ledger show run --key 0
        ledger check run
        ledger prune run
        ledger forget run
        judge few.jsonl --judge local:length --judge local:lexical --judge local:format --judge local:consensus \\
            > local.csv
        """,
        inputs=("few.jsonl",),
        service={},
        audit=False,
    ),
    Case(
        "select",
        _PICKS + "select - --judge pointwise:openai/m --run greedy < pools.jsonl > from_stdin.jsonl",
        inputs=("pools.jsonl",),
        service={},
        audit=False,
    ),
    Case(
        "select_routed",
        f"""
        select pools.jsonl --judge interval:openai/m {_STRONG} --route interval_width --run a > width.jsonl
        select pools.jsonl --judge pointwise:openai/m {_STRONG} --route margin --among contenders --run b \\
            > margin.jsonl
        select pools.jsonl --judge pointwise:openai/m --second pointwise:anthropic/m {_STRONG} \\
            --route disagreement --run c > disagreement.jsonl
        """,
        inputs=("pools.jsonl",),
        service={},
        audit=False,
    ),
    Case(
        "select_page",
        "select few.jsonl --judge pointwise:openai/m --run run --html picks.html > picks.jsonl",
        inputs=("few.jsonl",),
        service={},
    ),
    Case(
        "select_cut_off",
        """
        select few.jsonl --judge pointwise:openai/m --run run --dry-run
        select few.jsonl --judge pointwise:openai/m --run run --max-calls 5 --max-concurrency 1 > cut.jsonl
        select few.jsonl --judge pointwise:openai/m --run run --max-calls 0 --on-failure first > first.jsonl
        select few.jsonl --judge pointwise:openai/m --run run > whole.jsonl
        select few.jsonl --judge local:length --on-failure raise > local.jsonl
        """,
        inputs=("few.jsonl",),
        service={},
        audit=False,
    ),
    Case(
        "refused",
        "judge few.jsonl --judge pointwise:openai/m --run run --max-concurrency 1 --out out.csv",
        inputs=("few.jsonl",),
        service={"keys": frozenset({"right"})},
        audit=False,
    ),
)
