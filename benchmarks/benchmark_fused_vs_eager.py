"""Every workload, fused, against eager MLX and mx.compile, with geometric means by kind."""

import harness
import report
from workloads import WORKLOADS


def summary(results):
    for kind in ("elementwise", "reduction", "mixed"):
        timed = [r for r in results if r.times and WORKLOADS[r.name].kind == kind]
        if not timed:
            continue
        eager, compiled = (report.geometric_mean([r.ratio(c) for r in timed]) for c in ("eager", "mx.compile"))
        print(f"{kind:12} {len(timed):3} cases, geometric means: {eager:.2f} x eager, {compiled:.2f} x mx.compile")


if __name__ == "__main__":
    chosen = harness.options(__doc__, sizes=["128x1024"], iterations=5)
    results = harness.run("Fused against eager", harness.selected(list(WORKLOADS), chosen), chosen)
    summary(results)
    harness.finish(results)
