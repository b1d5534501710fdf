"""Fitted estimators on disk: one safetensors file with options and attributes in its header.

The file is replaced in one step, so that a folder holds a complete model at any time, whatever
fails and whoever else writes to it. Versions up to 0.2.0 wrote two files, which are still read.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import torch
from safetensors import torch as safetensors
from sklearn.base import ClassifierMixin

from pointforms.estimators.saved_values import (
    pack,
    restore_learned,
    restore_options,
    restore_weights_of_format_1,
)
from pointforms.geometry.choice import USUAL_NEIGHBORS
from pointforms.geometry.settings import GramSettings
from pointforms.nn.average import AverageNetwork
from pointforms.support.files import PARTIAL_PREFIX, atomic

_FORMAT = 2
_MODEL = "model.safetensors"
_CONFIG_OF_FORMAT_1 = "estimator.json"
# Keys of the header: options and attributes, and a checksum of the file with zeros in its place.
_CONFIG, _CHECKSUM = "pointforms", "sha256"
_NO_CHECKSUM = "0" * 64
# How the names of the weights of members begin, before their number.
_MEMBERS = "members."
_LARGEST_HEADER = 16 << 20  # bytes, of which models need some thousand

# The names that safetensors has for types.
_TYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip

# Options that models of version 0.2.0 and older do not name, as they were then.
_OPTIONS_BEFORE: dict[str, Any] = {"scale": None, "frame": "absolute", "members": 1}

# Every class that `load` can make, by its name.
_classes: dict[str, Any] = {}


def register(cls: type) -> None:
    """Let `load` find a class by its name."""
    _classes[cls.__name__] = cls


def save(estimator: Any, folder: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a folder, complete or not at all; leave other files alone."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise ValueError(f"{str(folder)!r} is a file: expected a folder")
    if target.is_dir() and not (_holds_model(target) or _is_empty(target)):
        raise ValueError(f"{str(folder)!r} holds something else: choose an empty folder")
    try:
        content = _packed(estimator)
        _unpacked(BytesIO(content), len(content), None)
    except Exception as error:
        raise ValueError(f"this {type(estimator).__name__} cannot be saved: {error}") from error
    with atomic(target / _MODEL) as partial, partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    # from here on the new model is the one that `load` reads
    if _is_config_of_format_1(target / _CONFIG_OF_FORMAT_1):
        (target / _CONFIG_OF_FORMAT_1).unlink(missing_ok=True)


def load(folder: str | os.PathLike[str]) -> Any:
    """Read the estimator that the method `save` of a point-form estimator wrote.

    Nothing in the file is trusted: it cannot run code, name files, or make `load` allocate more
    than its own size. If the machine lacks the device of the model, the model moves to the CPU,
    with a warning.

    Parameters
    ----------
    folder : path-like
        The folder that was given to `save`, by this version or an older one.

    Returns
    -------
    PointFormClassifier, PointFormRegressor or PointFormTransformer
        The fitted estimator, with the options it had. Only `cache` is None, because it names a
        folder of the machine that saved the model, and a `random_state` that was no number.

    Raises
    ------
    FileNotFoundError
        If the folder has no saved estimator.
    ValueError
        If it has one that is damaged, or that this version cannot read.

    Examples
    --------
    >>> import tempfile
    >>> import pointforms as pf
    >>> task = pf.tasks.load("circles-vs-lines", clouds=20, points=16)
    >>> fitted = pf.PointFormTransformer(forms=2, epochs=0, random_state=0).fit(task.clouds)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fitted.save(folder)
    ...     again = pf.load(folder)
    >>> bool((again.transform(task.clouds) == fitted.transform(task.clouds)).all())
    True
    """
    path = Path(folder)
    model, old = path / _MODEL, path / _CONFIG_OF_FORMAT_1
    if not model.is_file() and not old.is_file():
        raise FileNotFoundError(f"no saved estimator in {str(folder)!r}")
    try:
        with model.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            estimator, device = _unpacked(file, size, old)
    except PermissionError:
        raise
    except Exception as error:  # whatever a bad byte leads to
        raise ValueError(f"{str(folder)!r} cannot be loaded: {error}") from error
    if estimator.device != device:
        warnings.warn(
            f"{str(folder)!r} was saved with device={device!r}, which is not available here: "
            f"using device={estimator.device!r}",
            stacklevel=2,
        )
    estimator.model_ = estimator.model_.to(estimator.device)
    return estimator


def _packed(estimator: Any) -> bytes:
    """Return a fitted estimator as the bytes of its file."""
    config = {"format": _FORMAT, "class": type(estimator).__name__, **pack(estimator)}
    state = estimator.model_.state_dict()
    tensors = {name: value.detach().cpu().contiguous() for name, value in state.items()}
    metadata = {_CONFIG: json.dumps(config), _CHECKSUM: _NO_CHECKSUM}
    content: bytes = safetensors.save(tensors, metadata)
    return content.replace(
        _checksum_entry(_NO_CHECKSUM), _checksum_entry(hashlib.sha256(content).hexdigest()), 1
    )


def _unpacked(file: BinaryIO, size: int, old: Path | None) -> tuple[Any, str]:
    """Return the estimator of a file, on the CPU, and the device that it had.

    Everything is checked before the weights are read, by the header alone.

    Parameters
    ----------
    file : binary file
        Its content.
    size : int
        Number of bytes in it.
    old : Path or None
        Where the configuration is if the header has none.
    """
    length = int.from_bytes(file.read(8), "little")
    if length > min(size - 8, _LARGEST_HEADER):
        raise ValueError("the header of its weights is damaged, or longer than 16 MiB")
    header = _json_object(file.read(length), "the header of its weights")
    metadata = header.pop("__metadata__", {})
    if _CONFIG in metadata:
        config = _json_object(metadata[_CONFIG].encode(), "its configuration")
    elif old is not None and old.is_file():
        if old.stat().st_size > _LARGEST_HEADER:
            raise ValueError("its configuration is damaged")
        config = _json_object(old.read_bytes(), "its configuration")
    else:
        raise ValueError("its weights are not those of a saved estimator")
    estimator, device = _without_network(config, header)
    network = _network(estimator, header)
    bytes_of_tensors = sum(
        t.numel() * t.element_size() for name, t in network.state_dict().items() if name in header
    )
    if 8 + length + bytes_of_tensors != size:
        raise ValueError(f"its weights are damaged: {size} bytes do not fit the header")
    file.seek(0)
    content = file.read()
    if _CONFIG in metadata:
        given = str(metadata.get(_CHECKSUM))
        blank = content.replace(_checksum_entry(given), _checksum_entry(_NO_CHECKSUM), 1)
        if hashlib.sha256(blank).hexdigest() != given:
            raise ValueError("it is damaged: its checksum does not match")
    tensors = safetensors.load(content)
    for name, values in tensors.items():
        if not torch.isfinite(values).all():
            raise ValueError(f"its weights {name!r} are not finite")
    network.load_state_dict(tensors, assign=True)
    estimator.model_ = network.eval()
    return estimator, device


def _without_network(config: dict[str, Any], header: dict[str, Any]) -> tuple[Any, str]:
    """Return the estimator of a configuration, without its network, and the device it had."""
    version, name = config.get("format"), config.get("class")
    if type(version) is not int or not 1 <= version <= _FORMAT:
        raise ValueError(
            f"it has format {version!r}, this version reads up to {_FORMAT}: update pointforms"
        )
    if not isinstance(name, str) or name not in _classes:
        raise ValueError(f"it holds a {name!r}: expected one of {', '.join(sorted(_classes))}")
    for key in ("options", "learned"):
        if not isinstance(config.get(key), dict):
            raise ValueError(f"its configuration is damaged: no {key}")
    options = _OPTIONS_BEFORE | restore_options(_classes[name], config["options"])
    estimator = _classes[name](**options)
    device = estimator.device
    if isinstance(device, str) and not _is_available(device):
        estimator.device = "cpu"
    estimator.check_options()
    learned = restore_learned(_classes[name], config["learned"], _outputs(estimator, header))
    if version == 1:
        restore_weights_of_format_1(estimator, learned)
    for attribute, value in learned.items():
        setattr(estimator, attribute, value)
    if not hasattr(estimator, "neighbors_"):  # of version 0.2.0 or older
        estimator.neighbors_ = estimator.neighbors
        if estimator.neighbors == "auto":
            estimator.neighbors_ = USUAL_NEIGHBORS
            warnings.warn(
                "this model was saved by a version that chose the neighbours of each cloud: it "
                f"now uses {USUAL_NEIGHBORS} for all, and predicts differently. Fit it again",
                stacklevel=4,
            )
    fitted = {**estimator.get_params(deep=False), "dimension": estimator.dimension_}
    GramSettings.among(fitted).check_width(estimator.components or estimator.n_features_in_)
    _check_units(estimator)
    return estimator, device


def _check_units(estimator: Any) -> None:
    """Raise an error unless the units of the features fit together."""
    learned = [hasattr(estimator, name) for name in ("center_", "unit_")]
    if learned[0] != learned[1] or learned[0] != estimator._learns_units():
        raise ValueError("its units do not fit its options")
    if learned[0] and not (estimator.unit_ > 0).all():
        raise ValueError("attribute unit_: expected positive numbers")
    axes = getattr(estimator, "axes_", None)
    if (axes is not None) != (estimator.components is not None):
        raise ValueError("attribute axes_ does not fit components")
    widths = {len(row) for row in axes or ()}
    if axes is not None and (
        len(axes) != estimator.components or widths != {estimator.n_features_in_}
    ):
        raise ValueError(
            f"attribute axes_: expected {estimator.components} rows of "
            f"{estimator.n_features_in_} numbers"
        )
    width = estimator.components or estimator.n_features_in_
    centers = getattr(estimator, "batch_centers_", {})
    if bool(centers) != (estimator.frame == "batch"):
        raise ValueError("attribute batch_centers_ does not fit frame")
    if any(len(center) != width for center in centers.values()):
        raise ValueError(f"attribute batch_centers_: expected {width} numbers per batch")


def _network(estimator: Any, header: dict[str, Any]) -> torch.nn.Module:
    """Return the network of an estimator without memory for its weights, which fit the header."""
    # no file has so many coefficients, and counting them would take long
    features = estimator.n_features_in_
    if estimator.coefficients == "dense":
        for degree in estimator.degrees():
            if min(degree, features - degree) > 62:
                raise ValueError(f"degree={degree} is too high for {features} features")
    if max(len(estimator.hidden), len(estimator.degrees())) > len(header):
        raise ValueError("its options describe more layers than it has weights")
    members = {name.split(".")[1] for name in header if name.startswith(_MEMBERS)}
    outputs = _outputs(estimator, header)
    with torch.device("meta"):
        network: torch.nn.Module = estimator._new_model(outputs)
        if members:
            if len(header) < len(members) * len(network.state_dict()):
                raise ValueError(f"it has too few weights for {len(members)} members")
            networks = [network] + [estimator._new_model(outputs) for _ in range(len(members) - 1)]
            network = AverageNetwork(networks, isinstance(estimator, ClassifierMixin))
        network = network.to(getattr(torch, estimator.dtype))
    expected = network.state_dict()
    for name in ("origin", "unit"):  # older models have neither: 0 and 1
        if name not in header and not members:
            del expected[name]
    for name in sorted(expected.keys() | header.keys()):
        if name not in expected:
            raise ValueError(f"it has weights {name!r}, which its options do not describe")
        shape = _shape(header, name)
        found = (header[name].get("dtype"), shape)
        described = (_TYPES[expected[name].dtype], list(expected[name].shape))
        if found != described:
            raise ValueError(f"its weights {name!r} are {found}: its options describe {described}")
    return network


def _outputs(estimator: Any, header: dict[str, Any]) -> int:
    """Return the number of outputs: one per entry of the last bias."""
    name = "head.2.bias" if estimator.head else "head.0.bias"
    [outputs] = _shape(header, name if name in header else f"{_MEMBERS}0.{name}")
    return outputs


def _shape(header: dict[str, Any], name: str) -> list[int]:
    """Return the shape of a tensor by the header of its file."""
    if name not in header:
        raise ValueError(f"it has no weights {name!r}, which its options describe")
    shape = header[name].get("shape") if isinstance(header[name], dict) else None
    if not isinstance(shape, list) or not all(type(length) is int for length in shape):
        raise ValueError(f"the header of its weights is damaged: {name!r} has no shape")
    return shape


def _is_available(device: str) -> bool:
    if torch.device(device).type == "meta":
        raise ValueError(f"device={device!r} holds no numbers")
    try:
        torch.empty(0, device=device)
    except Exception:  # torch has many for a device that is not there
        return False
    return True


def _checksum_entry(value: str) -> bytes:
    # inside the configuration the quotes are escaped, so this occurs once
    return f'"{_CHECKSUM}":"{value}"'.encode()


def _json_object(text: bytes, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{what} is damaged: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{what} is damaged: it is no object")
    return value


def _is_empty(folder: Path) -> bool:
    # a killed process may have left an unfinished file
    return all(path.name.startswith(PARTIAL_PREFIX) for path in folder.iterdir())


def _holds_model(folder: Path) -> bool:
    if _is_config_of_format_1(folder / _CONFIG_OF_FORMAT_1):
        return True
    try:
        with (folder / _MODEL).open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, _LARGEST_HEADER)))
        return _CONFIG in header["__metadata__"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def _is_config_of_format_1(path: Path) -> bool:
    try:
        return bool(json.loads(path.read_bytes()).keys() >= {"format", "class", "options"})
    except (OSError, ValueError, AttributeError, RecursionError):
        return False
