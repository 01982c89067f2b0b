"""The regions that a language model was asked for, and how: what recordings, tests and benchmarks share.

The seed and the target are fixed, so that prompts, and those of repairs, are the same on every machine.
"""

import json
import pathlib

RECORDINGS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "recordings"
ANSWERS = RECORDINGS / "answers"

LANGUAGES = {
    "cpu": [
        "softmax", "layer_norm", "rms_residual", "cross_entropy", "rope", "gated_cumsum", "max_and_index", "column_sums",
        "bf16_chain", "matmul_epilogue", "quantize_rows",
    ],
    "mlx": ["gelu_gate", "embedding_norm", "masked_softmax"],
}  # fmt: skip

REQUEST = {"variants": 3, "repairs": 2, "rounds": 1, "seed": 20260, "target": "cpu.avx512"}


def kernel(name):
    """KernelIR of a region, as text."""
    return (RECORDINGS / "kernels" / f"{name}.ap").read_text()


def models(answers=ANSWERS):
    """The names of the models that wrote the answers, as the recordings state them."""
    return sorted({json.loads(path.read_text())["model"] for path in answers.glob("*.json")})


def request(language, model=f"replay:{ANSWERS}", **options):
    """What autoperfect._core.tune_kernels takes; `options` add to it or replace a part."""
    return {**REQUEST, "language": language, "model": model, **options}
