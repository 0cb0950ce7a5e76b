"""A router in production: which pools a stronger judge decides, at a share that holds, and what it did so far."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, Self, get_args
from warnings import warn

import numpy as np

from bonwise.errors import UsageError
from bonwise.flags import takes_numbers
from bonwise.judges import calling, settings_mapping
from bonwise.judges.protocol import Judge
from bonwise.report.numbers import counted, percent
from bonwise.routing.control import FirstPass, Route, RouteDecision, ShareControl
from bonwise.routing.saved import SavedRouter
from bonwise.routing.signals import SIGNALS, Signal, compared_signals, live_signal
from bonwise.table.cell_scores import First
from bonwise.table.verdicts import Score, Verdict, pool_decimals, rounded

OnMissing = Literal["keep", "random"]
"""What becomes of a pool whose scores do not give the signal."""


@dataclass(frozen=True, slots=True)
class RouterReport:
    """What a router did so far."""

    signal: str
    share: float
    """Part of the pools that it may send."""
    seen: int
    sent: int
    """Both: pools considered, and those of them that went to the stronger judge."""
    threshold: float | None
    """Of the signal, for the next pool; None while no signal is known there."""
    without_signal: int
    """Pools whose signal could not be computed, sent or not."""
    reasons: Mapping[str, int]
    """How often each reason was given."""
    on_missing: OnMissing = "keep"
    """What was done with pools whose scores do not give the signal."""

    @property
    def sent_share(self) -> float | None:
        """Part of the pools that was sent; None before the first."""
        return self.sent / self.seen if self.seen else None

    @property
    def warning(self) -> str | None:
        """What is wrong where no pool at all had the signal, in one line; None otherwise."""
        if not self.seen or self.without_signal < self.seen:
            return None
        why = next((reason.partition("no signal: ")[2] for reason in self.reasons if "no signal: " in reason), "")
        because = f" ({why})" if why else ""
        sent = f"{self.sent:,} of {counted(self.seen, 'pool')} went to the stronger judge"
        chosen = ", at random" if self.on_missing == "random" else ""
        return f"no pool had the signal {self.signal}{because}: {sent}{chosen}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**asdict(self), "reasons": dict(self.reasons), "sent_share": self.sent_share, "warning": self.warning}


DEFAULT_SHARE = 0.25
"""Part of the pools that the stronger judge decides, where neither the caller nor a saved router says."""


_KEPT = RouteDecision(send=False, held_back=False)

_KEYS = ("strong", "signal", "share", "among", "second", "seed", "window", "cap", "on_missing")


@takes_numbers
class Router:
    """Sends the pools in which the first judge is least to be trusted to a stronger one.

    It looks at a pool once, after each candidate was judged once and before anything is asked again, and neither
    waits nor sends. A pool whose scores do not give the signal keeps its first pick, and a warning says so once. A
    pool of which fewer than two candidates were scored goes to the stronger judge whenever the cap allows. The reason
    says so of either.

    Parameters
    ----------
    strong : Judge or callable
        Decides the pools that are sent.
    signal : str, path or SavedRouter
        A name of `bonwise.routing.signals.SIGNALS`, or what ``bonwise route --save`` wrote.
    share : float, optional
        Part of the pools to send, above 0 and at most 1; by default that of a saved router, else 0.25.
    among : str
        ``all``: the stronger judge decides among all candidates. ``contenders``: among those that the first pass
        leaves level with the top or within its noise, see `contenders`.
    second : Judge or callable, optional
        Judges the first pass too, for a signal that looks at the disagreement of judges.
    seed : int
        Breaks ties between equal signals.
    window : int
        Latest pools among which a signal is ranked.
    cap : bool
        Whether ``sent <= share * seen + 1`` holds at all times; otherwise the share is only steered for.
    on_missing : {"keep", "random"}
        Of pools whose scores do not give the signal, such as scores without an interval: ``keep`` sends none of them
        and leaves them out of the share, ``random`` sends the share of them at random.

    Raises
    ------
    bonwise.errors.UsageError
        A setting that means nothing, or a signal that must be learnt first.
    bonwise.errors.FileError
        No saved router where one is named.

    Examples
    --------
    >>> router = Router(lambda prompt, text: len(text), share=0.5)
    >>> unsure = FirstPass([Score(0.6, low=0.1, high=0.9), Score(0.5, low=0.2, high=0.8)])
    >>> sure = FirstPass([Score(0.9, low=0.9, high=0.9), Score(0.1, low=0.1, high=0.1)])
    >>> routes = [router.consider(one, key=str(at)) for at, one in enumerate([unsure, sure] * 50)]
    >>> sum(one.strong for one in routes[::2]) > 40, any(one.strong for one in routes[11::2])
    (True, False)
    >>> routes[-1].reason
    'below the threshold'
    """

    def __init__(  # noqa: PLR0913 - settings, all but the first three by keyword
        self,
        strong: Judge | Callable[[str, str], Any],
        signal: str | PathLike[str] | SavedRouter = "interval_width",
        share: float | None = None,
        *,
        among: Literal["all", "contenders"] = "all",
        second: Judge | Callable[[str, str], Any] | None = None,
        seed: int = 0,
        window: int = 500,
        cap: bool = True,
        on_missing: OnMissing = "keep",
    ) -> None:
        self.strong = calling.as_judge(strong)
        self.second = None if second is None else calling.as_judge(second)
        if among not in ("all", "contenders"):
            raise UsageError(f"among is {among!r}", hint="choose all or contenders")
        if on_missing not in get_args(OnMissing):
            raise UsageError(f"on_missing is {on_missing!r}", hint="choose keep or random")
        self.among, self.on_missing = among, on_missing
        self._signal = _found(signal)
        _check_second(self.needs, self.signal, self.second)
        saved = self._signal if isinstance(self._signal, SavedRouter) else None
        self._first: First = "score" if saved is None else saved.first
        if share is None:
            share = DEFAULT_SHARE if saved is None else saved.share
        if share == 0:
            raise UsageError("share is 0", hint="leave the router out, or give a part above 0 such as 0.25")
        earlier = () if saved is None else compared_signals(np.asarray(saved.calibration, dtype=float)).tolist()
        self._control = ShareControl(share, seed, earlier, window, cap=cap)
        self._steering = {"seed": seed, "window": window, "cap": cap}
        self._reasons: Counter[str] = Counter()
        self._without_signal = self._kept = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Router to {self.strong.name}: {self.name}>"

    @property
    def signal(self) -> str:
        """Name of the signal."""
        return self._signal.signal if isinstance(self._signal, SavedRouter) else self._signal.name

    @property
    def name(self) -> str:
        """The signal and the share, as picks and their audits name the router."""
        return f"{self.signal} at a share of {percent(self.share)}"

    @property
    def needs(self) -> tuple[str, ...]:
        """Features of a pool without which its signal has no value."""
        return self._signal.needs

    @property
    def share(self) -> float:
        """Part of the pools that it may send."""
        return self._control.share

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values for JSON; `from_dict` makes a router of them with equal settings.

        What the router has seen is not among them. A saved router is written as its whole document.

        Raises
        ------
        bonwise.errors.UsageError
            A judge that plain values cannot state: a function, one with a client, or one whose address has a login or
            a key.

        Examples
        --------
        >>> import bonwise as bw
        >>> settings = bw.Router(bw.Pairwise("openai/gpt-5-mini"), share=0.1).to_dict()
        >>> settings["strong"], settings["signal"], settings["share"]
        ('pairwise:openai/gpt-5-mini', 'interval_width', 0.1)
        >>> bw.Router.from_dict(settings).to_dict() == settings
        True
        """
        given = self._arguments()
        saved = given["signal"]
        return {
            **given,
            "strong": settings_mapping.judge_values("router.strong", self.strong),
            "signal": saved.to_dict() if isinstance(saved, SavedRouter) else saved,
            "second": None if self.second is None else settings_mapping.judge_values("router.second", self.second),
        }

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Self:
        """Return the router that a mapping describes: one that `to_dict` returned, or one written by hand.

        Parameters
        ----------
        mapping : mapping
            Its keys are parameters of a router; what is left out has its default. A judge is a text as on a command
            line, or a mapping with ``spec``, ``base_url`` and ``seed``. The signal is a name, a path, or the document
            of a saved router.

        Raises
        ------
        bonwise.errors.UsageError
            No stronger judge, an unknown key, or a value that means nothing.

        Examples
        --------
        >>> Router.from_dict({"strong": "local:length", "share": 0.5}).share
        0.5
        """
        given = settings_mapping.checked_mapping("router", mapping, _KEYS, "strong")
        if isinstance(given.get("seed", 0), bool) or not isinstance(given.get("seed", 0), int):
            settings_mapping.refuse("router.seed", f"is {given['seed']!r}", "give a whole number")
        if not isinstance(given.get("cap", True), bool):
            settings_mapping.refuse("router.cap", f"is {given['cap']!r}", "give true or false")
        given["strong"] = settings_mapping.judge_from_values("router.strong", given["strong"])
        if given.get("second") is not None:
            given["second"] = settings_mapping.judge_from_values("router.second", given["second"])
        if isinstance(given.get("signal"), Mapping):
            given["signal"] = _saved(given["signal"])
        return cls(**given)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, perhaps in another process, sees pools of its own.
        return partial(type(self), **self._arguments()), ()

    def _arguments(self) -> dict[str, Any]:
        """Return what makes a router with these settings that has seen no pool."""
        signal = self._signal if isinstance(self._signal, SavedRouter) else self._signal.name
        return {
            "strong": self.strong,
            "signal": signal,
            "share": self.share,
            "among": self.among,
            "second": self.second,
            **self._steering,
            "on_missing": self.on_missing,
        }

    def consider(self, first_pass: FirstPass, key: str = "") -> Route:
        """Say who decides a pool. Call it once a pool; from any thread.

        Parameters
        ----------
        first_pass : FirstPass
        key : str
            Of the prompt. The same pools in the same order, with the same seed, are routed alike.
        """
        value, why = live_signal(first_pass, self.needs, self._signal.value, self._first)
        # Where fewer than two candidates have a score no first pick is worth keeping: the stronger judge is asked.
        missing = value is None and sum(isinstance(verdict, Score) for verdict in first_pass.verdicts) > 1
        kept = missing and self.on_missing == "keep"
        with self._lock:
            decision = _KEPT if kept else self._control.decide(value, key, at_random=missing)
            reason = _reason(decision, why)
            self._reasons[reason] += 1
            self._without_signal += value is None
            self._kept += kept
            to_be_said = kept and self._kept == 1
        if to_be_said:
            warn(
                f"a pool has no value of the signal {self.signal} ({why}): such pools keep their first pick; "
                "on_missing='random' sends the share of them at random",
                stacklevel=2,
            )
        narrowed = decision.send and self.among == "contenders"
        return Route(decision.send, value, reason, contenders(first_pass.verdicts) if narrowed else ())

    def report(self) -> RouterReport:
        """Return what the router did so far."""
        with self._lock:
            control = self._control
            return RouterReport(
                signal=self.signal,
                share=control.share,
                seen=control.seen + self._kept,
                sent=control.sent,
                threshold=control.threshold,
                without_signal=self._without_signal,
                reasons=dict(self._reasons.most_common()),
                on_missing=self.on_missing,
            )


def contenders(verdicts: Sequence[Verdict]) -> tuple[int, ...]:
    """Return who may be best: upper ends that reach the top one's lower end, two at least; empty for all."""
    scored = {at: verdict for at, verdict in enumerate(verdicts) if isinstance(verdict, Score)}
    if len(scored) < 2:
        return ()
    decimals = pool_decimals(score.value for score in scored.values())
    values = {at: rounded(score.value, decimals) for at, score in scored.items()}
    best = max(values.values())
    floor = min(rounded(_end(score.low, score), decimals) for at, score in scored.items() if values[at] == best)
    running = {at for at, score in scored.items() if rounded(_end(score.high, score), decimals) >= floor}
    if len(running) < 2:
        runner_up = max(value for at, value in values.items() if at not in running)
        running |= {at for at, value in values.items() if value == runner_up}
    return () if len(running) == len(verdicts) else tuple(sorted(running))


def _found(signal: str | PathLike[str] | SavedRouter) -> Signal | SavedRouter:
    if isinstance(signal, SavedRouter):
        return signal
    if not isinstance(signal, str | PathLike):
        raise UsageError(f"signal is {signal!r}", hint="give a name or the file that bonwise route --save wrote")
    name = fspath(signal)
    if name not in SIGNALS:
        if Path(name).exists() or Path(name).suffix or Path(name).name != name:
            return SavedRouter.load(name)
        raise UsageError(f"no signal {name!r}", hint=f"a file of bonwise route --save, or {', '.join(SIGNALS)}")
    if SIGNALS[name].learnt:
        raise UsageError(
            f"the signal {name} is learnt from labelled prompts",
            hint="bonwise route scores.csv --save router.json learns it; then the signal is that file",
        )
    return SIGNALS[name]


def _saved(document: Mapping[str, Any]) -> SavedRouter:
    from pydantic import ValidationError  # noqa: PLC0415

    from bonwise.strict_json import refusal  # noqa: PLC0415

    try:
        return SavedRouter.model_validate(document)
    except ValidationError as error:
        hint = "take what bonwise route SCORES --save FILE has written"
        raise UsageError(f"router.signal is no saved router: {refusal(error, document)}", hint=hint) from None


def _check_second(needs: Sequence[str], signal: str, second: Judge | None) -> None:
    looks = "disagreement" in needs
    if looks and second is None:
        hint = "name one: second=judge, or --second JUDGE"
        raise UsageError(f"the signal {signal} looks at a second judge", hint=hint)
    if second is not None and not looks:
        raise UsageError(
            f"the signal {signal} does not look at a second judge", hint="leave that out, or route by disagreement"
        )


def _reason(decision: RouteDecision, why: str) -> str:
    if why:
        return f"share is used up, and no signal: {why}" if decision.held_back else f"no signal: {why}"
    if decision.held_back:
        return "share is used up"
    return "above the threshold" if decision.send else "below the threshold"


def _end(end: float | None, score: Score) -> float:
    return score.value if end is None else end
