# %% [markdown]
# # A network of your own
#
# Use the layer `pf.nn.PointForms` inside a PyTorch module: two degrees of forms, a
# readout and a head of your own, and an ordinary training loop.
#
# The data are trajectories that turn and trajectories that leave, from the same
# starting points.

# %%
import matplotlib.pyplot as plt
import torch
from torch import nn

import pointforms as pf

torch.set_num_threads(1)  # the tensors are small
torch.manual_seed(0)

task = pf.tasks.load("circles-vs-lines", clouds=160, points=64)
fold = task.fold(0)
print(len(fold.train), "training clouds,", len(fold.test), "test clouds")

# %% [markdown]
# ## Geometry once, then batches
#
# The Gram fields depend on the points alone, so they are computed before training. A
# `FieldStore` keeps them in flat tensors and gathers padded batches, also of clouds
# that differ in size.

# %%
options = {"neighbors": 16, "dimension": 1}
train = pf.nn.FieldStore(pf.gram_fields(fold.train.clouds, **options))
test = pf.nn.FieldStore(pf.gram_fields(fold.test.clouds, **options))
batch = train.gather(torch.arange(4))
print("points ", tuple(batch.points.shape))
print("factor ", tuple(batch.factor.shape))
print("weights", tuple(batch.weights.shape))

# %% [markdown]
# ## The module
#
# Each layer returns one comparison matrix per cloud, $C_{ab} = \sum_p \mu(p)\, \langle
# \omega_a, \omega_b \rangle(p)$. Degree 0 pools functions of the position, degree 1
# compares directions. The layer norm brings the entries, which may differ by orders of
# magnitude, to one scale.


# %%
class TwoDegrees(nn.Module):
    def __init__(self, features: int, forms: int = 4) -> None:
        super().__init__()
        self.functions = pf.nn.PointForms(features, degree=0, forms=forms)
        self.arrows = pf.nn.PointForms(features, degree=1, forms=forms)
        width = 2 * forms * (forms + 1) // 2
        self.head = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, 2)
        )

    def forward(self, batch: pf.nn.FormBatch) -> torch.Tensor:
        matrices = (
            self.functions(batch, batch.points),
            self.arrows(batch, batch.points),
        )
        entries = [pf.nn.READOUTS["tri"](C) for C in matrices]
        return self.head(torch.cat(entries, dim=-1))


network = TwoDegrees(features=2)
print(network(batch).shape, "logits of the first four clouds")

# %% [markdown]
# ## Training
#
# Nothing here is special to point-forms: gradients flow through the comparison matrices
# into the coefficient networks.

# %%
labels = torch.from_numpy(fold.train.labels)
unseen, truth = test.gather(torch.arange(len(fold.test))), torch.from_numpy(fold.test.labels)
optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=0.1)
losses, accuracies = [], []
for _epoch in range(30):
    for places in torch.randperm(len(labels)).split(32):
        loss = nn.functional.cross_entropy(network(train.gather(places)), labels[places])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        hits = network(unseen).argmax(1) == truth
    losses.append(loss.item())
    accuracies.append(hits.float().mean().item())
print(f"accuracy on {len(truth)} unseen clouds: {accuracies[-1]:.2f}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.6), layout="constrained")
left.plot(losses)
left.set(xlabel="epoch", ylabel="loss of the last batch")
right.plot(accuracies)
right.set(xlabel="epoch", ylabel="accuracy, unseen clouds", ylim=(0, 1.05))
pf.plot.save(figure, "training.png")

# %% [markdown]
# The accuracy after each epoch is shown to look at the training. To choose the number
# of epochs, use a validation part of the training clouds, as the estimators do. For
# graphs of PyTorch Geometric, the transform `pf.nn.AttachGramFactor` and
# `pf.nn.form_batch` lead to the same layers; see [Layers and
# models](../reference/models.md).
