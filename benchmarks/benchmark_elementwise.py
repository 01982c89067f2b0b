"""Elementwise work: a single operation, where there is nothing to fuse, beside chains, where there is.

A single `add` reads two arrays and writes one however it is run. MLX's CPU backend is single threaded, so a kernel over
all cores may still beat it here; on one core or on a GPU expect a ratio of one, and that the decision is plain MLX.
"""

import harness

NAMES = ["add", "gelu", "gelu_tanh", "swiglu", "adamw"]

if __name__ == "__main__":
    chosen = harness.options(__doc__, sizes=["1x4096", "512x4096"])
    harness.finish(harness.run("Elementwise", harness.selected(NAMES, chosen), chosen))
