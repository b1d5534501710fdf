"""Clouds and columns of NumPy archives, whose arrays have one value per cloud."""

from __future__ import annotations

from pointforms.clouds import Clouds
from pointforms.io.columns import Annotations, PathLike, missing_feature
from pointforms.io.file_parts import ChooseColumns, FileParts
from pointforms.io.npz import array_names, check_clouds, read_annotated_npz
from pointforms.io.read_options import ReadOptions
from pointforms.support.suggestions import suggest

# Arrays that are the clouds themselves.
_CLOUDS = ("points", "offsets", "ids", "feature_names")


def archive_parts(
    path: PathLike, options: ReadOptions, choose: ChooseColumns, max_bytes: int | None
) -> FileParts:
    """Return the clouds of an .npz file, with all of their coordinates.

    Parameters
    ----------
    path : path-like
        An archive as :func:`pointforms.read_npz` describes.
    options : ReadOptions
        Roles of the arrays. The ids of clouds are always those of the archive.
    choose : callable
        Chooses the arrays to read beside the clouds.
    max_bytes : int or None
        The largest size that is accepted.
    """
    names = array_names(path)
    check_clouds(path, names)
    known = [name for name in names if name not in _CLOUDS]
    wanted = choose(known, "array {!r}", "the archive has the arrays")
    clouds, found = read_annotated_npz(path, wanted.names, (), max_bytes)
    annotations: Annotations = dict(found)
    left_out = {name: "array beside the clouds" for name in known if name not in annotations}
    left_out |= wanted.left_out
    return FileParts(chosen_features(clouds, options, left_out), annotations, left_out)


def chosen_features(clouds: Clouds, options: ReadOptions, left_out: dict[str, str]) -> Clouds:
    """Return clouds with the features that are named, or without those that are dropped."""
    names = list(clouds.feature_names)
    features = options.features or ()
    for name in features:
        if name not in names:
            raise missing_feature(f"no feature {name!r}", name, names, features)
    for name in (*options.drop, *options.allow):
        if name not in names and name not in left_out:
            raise ValueError(f"no feature {name!r}: {suggest(name, names)}")
    left_out |= {name: "dropped" for name in names if name in options.drop}
    chosen = [name for name in names if name not in left_out]
    chosen = chosen if options.features is None else list(options.features)
    if not chosen:
        raise ValueError("no feature is left: expected columns of coordinates")
    if chosen == names:
        return clouds
    places = [names.index(name) for name in chosen]
    return Clouds(clouds.points[:, places].contiguous(), clouds.offsets, clouds.ids, tuple(chosen))
