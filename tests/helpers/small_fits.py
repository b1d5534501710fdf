"""Options of estimators that train within a second."""

SMALL = {
    "epochs": 30,
    "hidden": (16,),
    "forms": 4,
    "learning_rate": 1e-2,
    "batch_size": 16,
    "random_state": 0,
}
