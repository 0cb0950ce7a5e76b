from bonwise.report.page.several_judges import side_by_side
from report.page.page_documents import several

NAMES = ("openai/gpt-5-mini", "openai/gpt-5-nano", "openai/gpt-5")


def test_names_of_compared_judges_are_told_apart():
    """Each paired difference is drawn beside both names, whole where they have room."""
    _, differences, *_ = side_by_side(several(NAMES))
    for figure in differences.figures:
        for at, first in enumerate(NAMES):
            for second in NAMES[at + 1 :]:
                assert f">{first} - {second}<" in figure.svg or f">{second} - {first}<" in figure.svg
