"""Gates on a judge, by pytest's mark and fixture ``bonwise_audit``; nothing else loads before a test asks."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import bonwise as bw
from bonwise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bonwise.auditing import result, result_verdict

__all__ = ["AuditCheck", "bonwise_audit", "pytest_configure", "pytest_runtest_call"]

MARK = "bonwise_audit"
FILES = ("labels", "pools", "design")
"""Options of an audit that may name a file."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, so that ``--strict-markers`` knows it."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(file, **gates): audit a table of scores with bonwise before the test, which fails where a gate such "
        "as recovery=.2 is not met. Other keywords are those of bonwise.audit.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Check the gates of a test's marks before the test itself."""
    for mark in item.iter_markers(MARK):
        AuditCheck(item)(*mark.args, **mark.kwargs)


@pytest.fixture
def bonwise_audit(request: pytest.FixtureRequest) -> AuditCheck:
    """Audit a table of scores and fail unless every gate is met: ``bonwise_audit("scores.csv", recovery=.2)``."""
    return AuditCheck(request.node)


class AuditCheck:
    """Audits for one test, with gates.

    Parameters
    ----------
    item : pytest.Item
        The test. Paths are relative to the folder of its file.
    """

    def __init__(self, item: pytest.Item) -> None:
        self._item = item

    def __call__(self, file: Any = None, **keywords: Any) -> result.Audit:
        """Audit a table and fail the test unless every gate is met.

        Parameters
        ----------
        file : str, pathlib.Path, pandas.DataFrame, ScoreTable, JudgedPools or rows as mappings
            What `bonwise.audit` reads.
        **keywords
            Options of `bonwise.audit`; every other keyword is a gate: a metric and the number it must exceed.

        Returns
        -------
        Audit

        Raises
        ------
        pytest.fail.Exception
            A gate is not met or not settled, none is named, or the table cannot be audited.
        """
        try:
            audit = self._checked(file, keywords)
        except bw.BonwiseError as error:
            refused = str(error)
        else:
            # These stand in the JUnit file of the suite.
            self._item.user_properties += [
                (f"bonwise {gate.judge} {gate.metric}", gate.sentence) for gate in audit.gates
            ]
            failed = [gate for gate in audit.gates if gate.state != "met"]
            if not failed:
                return audit
            refused = _told(audit, failed)
        pytest.fail(refused, pytrace=False)

    def _checked(self, file: Any, keywords: Mapping[str, Any]) -> result.Audit:
        if file is None:
            raise UsageError("no file is named", hint='such as bonwise_audit("scores.csv", recovery=.2)')
        options = signature(bw.audit).parameters
        # The gain of nDCG is a word, a gate on the metric of that name is a number.
        words = {name for name in options if name != "gain" or isinstance(keywords.get(name), str)}
        gates = {name: value for name, value in keywords.items() if name not in words}
        if not gates:
            raise UsageError("no gate is named", hint="such as recovery=.2")
        unread = [
            name for name, value in gates.items() if isinstance(value, bool) or not isinstance(value, int | float)
        ]
        if unread:
            raise UsageError(
                f"{unread[0]}={gates[unread[0]]!r} is no gate", hint="a metric and a number, such as recovery=.2"
            )
        given = {name: value for name, value in keywords.items() if name not in gates}
        given |= {name: self._located(given[name]) for name in FILES if name in given}
        return bw.audit(self._located(file), **given).check(gates)

    def _located(self, value: Any) -> Any:
        """Return a path relative to the folder of the test's file; a table, or the word of a design, as it is."""
        if not isinstance(value, str | Path) or value in ("uniform", "cells", "cells-by-score"):
            return value
        return self._item.path.parent / value


def _told(audit: result.Audit, failed: Sequence[result_verdict.Gate]) -> str:
    """Say what each judge is worth, and which of its gates are not met."""
    lines = [f"bonwise audit of {audit.settings.source}"]
    for judge in dict.fromkeys(gate.judge for gate in failed):
        record = audit.judges.get(judge)
        lines.append(judge if record is None else f"{judge}: {record.verdict.sentences[0]}")
        lines += [f"  {gate.sentence}" for gate in failed if gate.judge == judge]
    return "\n".join(lines)
