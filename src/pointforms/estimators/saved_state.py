"""What a file says about an estimator: values for JSON, and tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

# How the names of the tensors of parts begin.
_PARTS = "parts."


@dataclass(frozen=True)
class SavedState:
    """An estimator as a file has it.

    An estimator that is made of others saves each of these as it would be saved alone: the entry
    "parts" of its configuration has their configurations by name, and their tensors are named
    "parts.<name>.<tensor>".

    Attributes
    ----------
    config : dict
        Values that JSON has: the name of the class, its options, and its fitted attributes.
    tensors : dict of str to Tensor
        Everything that is large.
    """

    config: dict[str, Any]
    tensors: dict[str, Tensor]

    def with_parts(self, parts: Mapping[str, SavedState]) -> SavedState:
        """Return this state with the states of parts in it."""
        config = self.config | {"parts": {name: part.config for name, part in parts.items()}}
        tensors = dict(self.tensors)
        for name, part in parts.items():
            tensors |= {f"{_PARTS}{name}.{key}": tensor for key, tensor in part.tensors.items()}
        return SavedState(config, tensors)

    def divided(self) -> tuple[dict[str, Tensor], dict[str, SavedState]]:
        """Return the tensors that belong to no part, and the parts by name.

        Examples
        --------
        >>> import torch
        >>> part = SavedState({"class": "Small"}, {"mean": torch.ones(1)})
        >>> whole = SavedState({"class": "Large"}, {"bias": torch.ones(2)})
        >>> own, parts = whole.with_parts({"first": part}).divided()
        >>> own.keys(), parts["first"] == part
        (dict_keys(['bias']), True)
        """
        configs = self.config.get("parts")
        if not isinstance(configs, dict) or not all(isinstance(c, dict) for c in configs.values()):
            raise ValueError("its configuration is damaged: no parts")
        own: dict[str, Tensor] = {}
        parts = {name: SavedState(config, {}) for name, config in configs.items()}
        for key, tensor in self.tensors.items():
            if not key.startswith(_PARTS):
                own[key] = tensor
                continue
            name, _, inner = key.removeprefix(_PARTS).partition(".")
            if name not in parts:
                raise ValueError(f"it has weights {key!r} of a part that it does not describe")
            parts[name].tensors[inner] = tensor
        return own, parts
