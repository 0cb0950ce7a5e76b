"""How good is a judge at picking the best of n answers? Audit a file of its scores.

Runs as it is, without a key: ``python examples/audit_a_file.py``.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import bonwise as bw
from bonwise.testing import simulate

with TemporaryDirectory() as folder:
    # Your own table has the same columns: one row per candidate, with the judge's score and a label that
    # you trust. Here both are simulated: 1,000 prompts with 4 candidates each.
    table = Path(folder) / "scores.csv"
    simulate("arena", n=1000, seed=1).frame().to_csv(table, index=False)

    # One call reads the file, checks it and makes every figure with its interval.
    audit = bw.audit(table)

# The whole page, as `bonwise audit scores.csv` prints it.
print(audit)

# One figure: the share of the possible gain over a random pick that the judge's picks bring.
recovery = audit["recovery"]
print(f"recovery {recovery.estimate:.2f}, interval {recovery.low:.2f} to {recovery.high:.2f}")

# The verdict in a word, for the decision at hand: useful, weak, harmful, random or inconclusive.
print(f"as a picker this judge is {audit.verdict.level}")

# A gate for continuous integration: met, not met or inconclusive.
(gate,) = audit.check({"recovery": 0.1}).gates
print(gate.sentence)
