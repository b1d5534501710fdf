"""Parts of a portfolio: models of a cloud that share one split into folds."""
