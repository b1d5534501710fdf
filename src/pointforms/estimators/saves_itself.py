"""The method `save` of estimators."""

from __future__ import annotations

import os
from typing import ClassVar

from sklearn.utils.validation import check_is_fitted

from pointforms.estimators import saving


class SavesItself:
    """A mixin for estimators that are :class:`pointforms.estimators.saving.Saveable`."""

    # The attribute that a fitted estimator has.
    _fitted_attribute: ClassVar[str] = "model_"

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a folder: safetensors and JSON, no pickle.

        :func:`pointforms.load` reads it. A model that is already there is replaced in one step;
        other files of the folder stay. The option `cache`, a folder of this machine, is not
        written, nor is a `random_state` that is no number.

        Parameters
        ----------
        folder : path-like
            A folder that is empty, holds a saved model, or does not exist.
        """
        check_is_fitted(self, self._fitted_attribute)
        saving.save(self, folder)
