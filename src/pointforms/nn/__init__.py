"""Learned forms: coefficient networks, the comparison matrix, readouts, and the layer."""
