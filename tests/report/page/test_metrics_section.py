from __future__ import annotations

import pytest

from bonwise.report.page.metrics_section import metrics_section
from report.page.page_documents import audited


def section(*, control=False, alone=False):
    """Lay out the metrics of an audit with or without columns beside the estimates."""
    document = audited(control="c") if control else audited()
    metrics = document["metrics"]
    if alone:
        metrics = {**metrics, "gain": {**metrics["gain"], "labelled_only": metrics["gain"]}}
    return metrics_section({**document, "metrics": metrics}, document["settings"], "metrics")


@pytest.mark.parametrize("control", [False, True])
@pytest.mark.parametrize("alone", [False, True])
def test_columns_without_intervals_are_named(control, alone):
    """Only the estimates have intervals, so the sentence names every other column of figures that is there."""
    found = section(control=control, alone=alone)
    columns = [name for name in ("labels alone", "with control") if name in found.tables[0].headers]
    assert columns == ["labels alone"] * alone + ["with control"] * control
    told = f"; figures under {' and '.join(columns)} have none here" if columns else ""
    assert list(found.sentences) == [f"Every estimate with its 95% interval, clustered by prompt{told}."]
