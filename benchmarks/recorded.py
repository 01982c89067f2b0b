"""The regions that a language model was asked for, and how: what recordings, tests and benchmarks share.

The seed and the target are fixed, so that prompts, and those of repairs, are the same on every machine.
"""

import json
import pathlib
import re

RECORDINGS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "recordings"
ANSWERS = RECORDINGS / "answers"
CHEATS = RECORDINGS.parent / "cheats"

LANGUAGES = {
    "cpu": [
        "softmax", "layer_norm", "rms_residual", "cross_entropy", "rope", "gated_cumsum", "max_and_index", "column_sums",
        "bf16_chain", "matmul_epilogue", "quantize_rows", "reverse_logsumexp", "turned_residual", "hashed_buckets",
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


def refused_by_the_check():
    """[(KernelIR, [(language, source)])]: the drafts of tests/cheats that are rejected before anything is compiled."""
    languages = {".cpp": "cpu", ".cu": "cuda", ".metal": "metal", ".py": "mlx"}
    found = {}
    for path in sorted(CHEATS.glob("*/*")):
        head = re.match(r"\S+ kernel: (\w+)\n\S+ rejected-by: check\b", path.read_text(errors="surrogateescape"))
        if head and path.suffix in languages:
            draft = (languages[path.suffix], path.read_text(errors="surrogateescape"))
            found.setdefault((CHEATS / "kernels" / f"{head[1]}.ap").read_text(), []).append(draft)
    return list(found.items())
