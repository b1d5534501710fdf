from __future__ import annotations

import numpy as np
import pytest
import torch

import pointforms as pf
from pointforms.estimators.prediction import apply, class_probabilities


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_every_cloud_has_its_row_whatever_the_batches(batch_size, rng):
    sizes = (12, 40, 7, 33, 12, 25)
    fields = pf.gram_fields([rng.normal(size=(n, 3)) for n in sizes], dimension=2)
    store = pf.nn.FieldStore(fields, dtype=torch.float64)
    torch.manual_seed(0)
    network = pf.nn.PointFormNetwork(3, 2, forms=3, hidden=(8,)).double()
    outputs = apply(network, store, batch_size=batch_size)
    assert not network.training
    alone = torch.cat([network(store.gather(torch.tensor([i]))) for i in range(6)])
    torch.testing.assert_close(outputs, alone.detach(), rtol=1e-9, atol=1e-12)
    features = apply(network, store, network.features, batch_size)
    assert features.shape == (6, 6)
    probabilities = class_probabilities(network, store)
    np.testing.assert_allclose(probabilities, outputs.softmax(-1).numpy(), rtol=1e-9)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "comparison_matrices"])
def test_a_cloud_too_large_for_the_network_is_named(fitted, data, method):
    """float32 overflows at such coordinates; NaN probabilities would pass as a prediction."""
    for scale, message in [
        (1e30, r"cloud 3 gets a value that is not finite: .* float32"),  # its square
        (1e200, r"cloud 3 has values up to .*, outside of the range of torch\.float32"),
    ]:
        clouds = [*data[3][:3], scale * data[3][3], *data[3][4:6]]
        with pytest.raises(ValueError, match=message):
            getattr(fitted, method)(clouds)


def test_a_damaged_network_predicts_nothing(data):
    clouds, y, groups, _, _ = data
    regressor = pf.PointFormRegressor(forms=2, hidden=(4,), epochs=1, random_state=0)
    regressor.fit(clouds[:20], y[:20] + 0.5 * np.arange(20), groups[:20])
    with torch.no_grad():
        next(regressor.model_.parameters()).fill_(torch.nan)
    with pytest.raises(ValueError, match=r"cloud 0 .* or the network is damaged"):
        regressor.predict(clouds)
