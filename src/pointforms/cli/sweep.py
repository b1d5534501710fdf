"""`npf sweep`: train the fits of a manifest."""

from __future__ import annotations

from pointforms import bench
from pointforms.cli import options
from pointforms.cli.engines import exit_if_failed, make_engine, print_results, train
from pointforms.cli.file_options import FileArguments, takes_file_options


@takes_file_options
def sweep(
    manifest: options.MANIFEST,
    store: options.STORE = options.RESULTS,
    engine: options.ENGINE = options.Engine.local,
    workers: options.WORKERS = None,
    devices: options.DEVICES = None,
    address: options.ADDRESS = None,
    retry: options.RETRY = False,
    wide: options.WIDE = False,
    *,
    file: FileArguments,
) -> None:
    """Train every fit of a manifest that the store does not have yet, and print the results.

    A sweep can be stopped at any moment and started again. Several sweeps can share a store. The
    exit status is 1 if any fit of the manifest has failed, also in an earlier run. Options about
    your own files hold for all files in the manifest; its tables sweep.reading set them per sweep.
    """
    plan = bench.read_manifest(manifest).with_reading(file.given)
    records = train(plan, store, make_engine(engine, workers, devices, address), retry)
    print_results(records, plan.rows(), wide)
    exit_if_failed(records, plan, store)
