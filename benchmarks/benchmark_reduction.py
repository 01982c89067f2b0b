"""Mean and variance over the rows, with the plain sums beside them: one pass over memory, so the copy speed is the
limit (a reduction only reads, and may come out above the share a copy reaches)."""

import harness

NAMES = ["mean_var", "sum", "column_sum"]

if __name__ == "__main__":
    chosen = harness.options(__doc__, sizes=["1024x4096", "4096x1023"], dtypes=["f32", "bf16"])
    harness.finish(harness.run("Mean and variance", harness.selected(NAMES, chosen), chosen))
