"""How a file of one's own is read: which column plays which role, and what is left out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from pointforms.io.columns import column_name, column_names
from pointforms.support.options import shown
from pointforms.support.suggestions import suggest

#: What a label is: a class, or a number to predict.
LabelKind = Literal["auto", "classification", "regression"]


@dataclass(frozen=True)
class ReadOptions:
    """Roles of the columns of a file, and what to leave out.

    Parameters
    ----------
    cloud : str, default "cloud"
        Column of cloud ids.
    label : str, default "label"
        Column of labels.
    group : str or None, default None
        Column of groups, such as patients. None takes a column called group, patient, donor or
        subject if there is one; otherwise every cloud is a group of its own.
    batch : str or None, default None
        Column of the batches in which clouds were measured.
    covariates : sequence of str, default ()
        Columns with one value per cloud that are given to the model beside the points.
    features : sequence of str or None, default None
        Columns of coordinates. None takes all numeric columns without another role, and refuses
        those that look like a leak.
    drop : sequence of str, default ()
        Columns that are not used.
    allow : sequence of str, default ()
        Columns that look like a leak and are coordinates nevertheless.
    use_rep : str or None, default None
        Key of `obsm` in which AnnData has the coordinates; None stands for `X`.
    layer : str or None, default None
        Layer in which AnnData has the coordinates; None stands for `X`.
    samples : str or None, default None
        Table with one row per cloud, for columns that the file itself does not have. None takes
        samples.csv in a folder of FCS files.
    kind : {"auto", "classification", "regression"}, default "auto"
        What the label is. "auto" predicts numbers if the label has fractions, or more than 20
        different whole numbers.
    drop_missing : bool, default False
        Leave out points with missing values, and clouds without a label.
    drop_small : int, default 0
        Leave out clouds with fewer points than this.
    decimal_comma : bool, default False
        Whether numbers are written with decimal commas.

    Examples
    --------
    >>> import pointforms as pf
    >>> options = pf.io.ReadOptions(cloud="sample", drop=["batch"])
    >>> options.differing()
    {'cloud': 'sample', 'drop': ['batch']}
    """

    cloud: str = "cloud"
    label: str = "label"
    group: str | None = None
    batch: str | None = None
    covariates: Sequence[str] = ()
    features: Sequence[str] | None = None
    drop: Sequence[str] = ()
    allow: Sequence[str] = ()
    use_rep: str | None = None
    layer: str | None = None
    samples: str | None = None
    kind: LabelKind = "auto"
    drop_missing: bool = False
    drop_small: int = 0
    decimal_comma: bool = False

    def __post_init__(self) -> None:
        for name in ("cloud", "label", "group", "batch", "use_rep", "layer", "samples"):
            value = getattr(self, name)
            if isinstance(value, os.PathLike):
                value = os.fspath(value)
            if value is not None or name in ("cloud", "label"):
                object.__setattr__(self, name, column_name(name, value))
        for name in ("covariates", "features", "drop", "allow"):
            value = getattr(self, name)
            if value is not None or name != "features":
                object.__setattr__(self, name, tuple(column_names(name, value)))
        if self.kind not in get_args(LabelKind):
            raise ValueError(f"kind={self.kind!r}: {suggest(self.kind, get_args(LabelKind))}")
        for name in ("drop_missing", "decimal_comma"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name}={shown(getattr(self, name))}: expected True or False")
        if type(self.drop_small) is not int or self.drop_small < 0:
            raise ValueError(
                f"drop_small={shown(self.drop_small)}: expected a number of points, at least 0"
            )
        self._check_roles()

    def _check_roles(self) -> None:
        """Raise an error if a column has two roles that exclude each other."""
        if self.use_rep is not None and self.layer is not None:
            raise ValueError(
                f"use_rep={self.use_rep!r} and layer={self.layer!r}: expected one of them, not both"
            )
        roles = [(name, getattr(self, name)) for name in ("cloud", "label", "group", "batch")]
        roles += [("covariates", name) for name in self.covariates]
        for role, name in roles:
            if name in self.drop:
                raise ValueError(f"column {name!r} is dropped, and is the {role}: expected one")
            if role != "group" and name is not None and name in (self.features or ()):
                raise ValueError(f"column {name!r} is a feature, and is the {role}: expected one")
        for name in self.covariates:
            if name == self.label:
                raise ValueError(f"column {name!r} is the label, and a covariate: expected one")
        for name in self.features or ():
            if name in self.drop:
                raise ValueError(f"column {name!r} is a feature, and cannot be dropped")

    def differing(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, with lists for tuples."""
        usual = {one.name: one.default for one in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if value != usual[name]
        }

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ReadOptions:
        """Return options from a mapping, such as that of :meth:`differing`.

        Examples
        --------
        >>> ReadOptions.of({"clud": "sample"})
        Traceback (most recent call last):
        ValueError: no option 'clud' of reading a file: did you mean 'cloud'?
        """
        names = [one.name for one in fields(cls)]
        for name in options:
            if name not in names:
                raise ValueError(f"no option {name!r} of reading a file: {suggest(name, names)}")
        return cls(**options)
