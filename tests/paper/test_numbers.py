"""The paper's numbers."""

from pointforms.paper.numbers import paper_value


def test_numbers_of_the_paper():
    assert paper_value("circles-vs-lines", "MLP") == (0.729, 0.028)
    assert paper_value("pdo-efp", "GIN") == (0.685, 0.116)
    assert paper_value("pdo-caf", "NPF-Flat k=2") == (0.581, 0.073)
    assert paper_value("circles-vs-lines", "Random forest") is None
    assert paper_value("columns", "MLP") is None
