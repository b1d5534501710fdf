"""A portfolio of models on clouds behind one fit: point-forms, and heads on pooled summaries."""
