"""`npf predict`: predict the clouds of a file with a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pointforms.cli import options
from pointforms.cli.console import echo, print_summary, print_table, use_one_thread
from pointforms.cli.file_options import FileArguments, takes_file_options


@takes_file_options
def predict(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="Folder that `npf fit` or a model's `save` wrote."),
    ],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A file, or a folder of .fcs files.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Table to write: .csv or .parquet (default: print the table)."),
    ] = None,
    wide: options.WIDE = False,
    *,
    file: FileArguments,
) -> None:
    """Predict the clouds of a file, one row per cloud.

    The file is read as that of `npf fit` was, unless options say otherwise; it needs no labels.
    Columns: cloud, prediction, probability_<class> for classifiers, and out_of_fold. A cloud that
    the model was fitted on is recognised by its points. Its row has the out-of-fold prediction, by
    models that were not trained on it, and out_of_fold is True: any other prediction for it would
    be too good.
    """
    from pointforms.cli.saved_models import options_for, provenance_of
    from pointforms.estimators import load, prediction_table
    from pointforms.io import read_file
    from pointforms.io.columns import MissingFeatureError
    from pointforms.io.file_summary import shown_names
    from pointforms.support.files import check_output
    from pointforms.support.table_files import check_table_path, write_table

    use_one_thread()
    if out is not None:
        check_table_path(out)
        check_output(out, data)
    estimator = load(model)
    if not hasattr(estimator, "predict"):
        raise TypeError(
            f"{str(model)!r} holds a {type(estimator).__name__}, which predicts nothing"
        )
    reading = options_for(estimator, provenance_of(model), file)
    try:
        content = read_file(data, reading, labels=False)
    except MissingFeatureError as error:
        if "features" in file.given:
            raise
        names = shown_names(reading.features or ())
        raise ValueError(f"{error}; the model needs the features {names}") from None
    print_summary(data.name, content.summary)
    _check_features(estimator, content.clouds.feature_names)
    table = prediction_table(estimator, content.clouds, content.covariates, content.batch)
    if out is None:
        print_table(table, wide)
        return
    write_table(table, out)
    for note in table.notes:
        echo(note)
    echo(f"Predictions: {out.resolve()}")


def _check_features(estimator: Any, names: tuple[str, ...]) -> None:
    expected = int(estimator.n_features_in_)
    if len(names) != expected:
        raise ValueError(
            f"the file has {len(names)} features, the model was fitted with {expected}: --features "
            "chooses columns, in the order in which the model was given them"
        )
