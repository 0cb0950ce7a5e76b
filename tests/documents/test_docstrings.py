from __future__ import annotations

from bonwise.documents.docstrings import meanings, prose

DOCSTRING = """First line of ``it``
    and its second.

    A paragraph.

    Parameters
    ----------
    one, two : {"a", "b : c"}, optional
        Meaning of both,
        over lines; ``code``, or None.

        With a paragraph.
    bare : int
    three
        Without a type.

    Examples
    --------
    >>> four : int
        Not a parameter.
    """


def test_prose_ends_where_sections_begin():
    """Paragraphs of one line each."""
    assert prose(DOCSTRING) == "First line of `it` and its second.\n\nA paragraph."
    assert prose("") == ""
    assert prose("One.\n\n---\n\nTwo.") == "One.\n\n---\n\nTwo."


def test_meanings_are_those_of_the_parameters():
    """Names that share a line share a meaning; those without a text have none."""
    both = "Meaning of both, over lines; `code`, or null. With a paragraph."
    assert meanings(DOCSTRING) == {"one": both, "two": both, "three": "Without a type."}
    assert meanings("One line.") == {}
