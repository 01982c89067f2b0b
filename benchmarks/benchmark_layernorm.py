"""Layer norm written in plain MLX, against eager, mx.compile and mx.fast.layer_norm; RMS norm beside it."""

import harness

NAMES = ["layer_norm", "rms_norm", "residual_rms_norm"]

if __name__ == "__main__":
    chosen = harness.options(__doc__, sizes=["32x64", "1024x4096", "255x4097"], dtypes=["f32"])
    harness.finish(harness.run("Layer norm", harness.selected(NAMES, chosen), chosen))
