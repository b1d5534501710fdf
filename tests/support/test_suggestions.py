from __future__ import annotations

import inspect

import pytest

import pointforms as pf
from pointforms.support.suggestions import suggest, suggests_parameters


def test_the_nearest_name_is_suggested():
    assert suggest("Sampel", ["plate", "sample"]) == "did you mean 'sample'?"
    assert suggest("sample", ["plate", "SAMPLE"]) == "did you mean 'SAMPLE'?"
    assert suggest("x", ["plate", "sample"]) == "expected one of 'plate', 'sample'"
    assert suggest("x", []) == "there are none"
    assert suggest(3, ["plate", "sample"]) == "expected one of 'plate', 'sample'"
    assert suggest("wide", [f"gene{i}" for i in range(2000)]).endswith("'gene11', … (2000)")


def test_a_misspelt_keyword_names_the_nearest_parameter():
    @suggests_parameters
    def scale(points: float, factor: float = 2.0) -> float:
        """Scale."""
        return points * factor

    assert scale(3.0) == scale(points=3.0, factor=2.0) == 6.0
    assert scale.__doc__ == "Scale."
    assert list(inspect.signature(scale).parameters) == ["points", "factor"]
    with pytest.raises(TypeError, match=r"^scale\(\) got .* 'factr': did you mean 'factor'\?$"):
        scale(3.0, factr=1.0)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        scale()


def test_constructors_are_called_by_their_class():
    class Base:
        @suggests_parameters
        def __init__(self, *, epochs: int = 1) -> None:
            self.epochs = epochs

    class Model(Base):
        pass

    assert Model(epochs=3).epochs == 3
    with pytest.raises(TypeError, match=r"^Model\(\) got .* 'epoch': did you mean 'epochs'\?$"):
        Model(epoch=3)
    with pytest.raises(TypeError, match=r"expected one of 'epochs'$"):
        Model(width=3)


def test_constructors_without_positions_say_so():
    with pytest.raises(TypeError, match=r"Classifier\(\) takes keyword arguments only, got 1"):
        pf.PointFormClassifier(1)
