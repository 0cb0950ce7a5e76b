"""``bonwise preferences``: a study of votes, or an audit of verdicts against labels."""

from __future__ import annotations

from bonwise.cli.shared_flags import TableOutput, TypedCall, shared_flags
from bonwise.errors import UsageError
from bonwise.votes.front import audit_preferences, study_preferences

_OF_VOTES = (
    *("ties", "ranking", "near_tie", "power", "fewest_votes", "seed"),
    *("by", "against", "next", "depth", "early_votes"),
)


@shared_flags(of={"audit": audit_preferences, "study": study_preferences})
def preferences(*, audit: TypedCall, study: TypedCall, output: TableOutput) -> int:
    """Study votes, or audit pairwise verdicts.

    Of votes it prints margins, near ties and the votes needed. With --labels or --label-col it audits verdicts
    against labels. Columns that are not named are found, and the page says how the file was read.
    """
    output.refuse_overwriting(*dict.fromkeys((*audit.paths(), *study.paths())))
    if audit.values["label_col"] is None and audit.values["labels"] is None:
        hint = "name the labels with --labels or --label-col, or leave it out"
        _refuse("is only for verdicts compared with labels", hint, audit, "judge_col", "context_col")
        output.deliver(study.run())
        return 0
    hint = "leave it out, or leave out the labels"
    _refuse("is only for votes without labels", hint, study, *_OF_VOTES)
    output.deliver(audit.run())
    return 0


def _refuse(message: str, hint: str, call: TypedCall, *names: str) -> None:
    """Refuse a flag that would be passed over."""
    for name in names:
        if call.values[name] is not None and call.values[name] is not False:
            raise UsageError(f"{call.flag(name)} {message}", hint=hint)
