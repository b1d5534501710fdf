"""Models that version 0.1.0 saved."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file

SAVED_BY_0_1_0 = Path(__file__).parents[1] / "data" / "saved-by-0.1.0"


def changed(folder: Path, kind: str = "classifier", weights=None, **config) -> Path:
    """A model of 0.1.0, whose format has no checksum, with another configuration or weights.

    Keys such as options__hidden replace single entries.
    """
    shutil.copytree(SAVED_BY_0_1_0 / kind, folder / "model")
    file = folder / "model" / "estimator.json"
    content = json.loads(file.read_text())
    for key, value in config.items():
        *outer, last = key.split("__", 1)
        (content[outer[0]] if outer else content)[last] = value
    file.write_text(json.dumps(content))
    if weights is not None:
        tensors = load_file(folder / "model" / "model.safetensors")
        save_file(tensors | weights(tensors), folder / "model" / "model.safetensors")
    return folder / "model"
