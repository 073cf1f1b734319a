"""Measured quality: how well the parts decide on public data, as figures, never as a pass or a fail."""
