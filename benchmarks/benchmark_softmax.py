"""Softmax written in plain MLX, against eager, mx.compile and mx.softmax; its relatives beside it."""

import harness

NAMES = ["softmax", "log_softmax", "masked_softmax", "capped_softmax"]

if __name__ == "__main__":
    chosen = harness.options(__doc__, sizes=["32x64", "512x4096"], dtypes=["f32"])
    harness.finish(harness.run("Softmax", harness.selected(NAMES, chosen), chosen))
