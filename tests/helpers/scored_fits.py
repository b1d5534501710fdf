"""Records with given scores, for tests of comparisons and tables."""

from pointforms.bench.records import Record, Row

TASK = "circles-vs-lines"


def fits(row, aurocs, validation=0.5, seeds=1, **values):
    """Records of folds × seeds around one AUROC per fold."""
    return [
        Record(
            row,
            fold,
            seed,
            auroc=auroc,
            accuracy=auroc,
            log_loss=1 - auroc,
            validation_loss=validation,
            train_size=240,
            test_size=60,
            **{"seconds": 1.5, "memory": 300 << 20, **values},
        )
        for fold, auroc in enumerate(aurocs)
        for seed in range(seeds)
    ]


def small():
    """Two rows of ours, a baseline ahead, one level and one far behind, with a failed fit."""
    return [
        *fits(Row(TASK, "npf-tri-1"), [0.90, 0.91, 0.92, 0.90, 0.92], 0.3, parameters=1000),
        *fits(Row(TASK, "npf-flat-1"), [0.94, 0.95, 0.96, 0.94, 0.96], 0.4, parameters=2000),
        *fits(Row(TASK, "random-forest"), [0.961, 0.969, 0.98, 0.961, 0.979]),
        *fits(Row(TASK, "mlp"), [0.93, 0.90, 0.91, 0.93, 0.90], parameters=26562),
        *fits(Row(TASK, "gcn"), [0.50, 0.5101, 0.52, 0.50, 0.52], parameters=18434),
        Record(Row(TASK, "gcn"), 4, 1, error="Traceback: out of memory"),
    ]
