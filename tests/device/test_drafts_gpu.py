"""Drafts in CUDA on a GPU, from the source or the model's answer to the process that runs the winner without a model.
What a draft may not do is in tests/cheats. Needs a GPU; also runs without pytest: python tests/device/test_drafts_gpu.py [NAME...]"""

import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/device")]
os.environ.setdefault("AUTOPERFECT_CACHE_DIR", tempfile.mkdtemp(prefix="autoperfect-gpu-"))

import mlx.core as mx  # noqa: E402
from test_compile_gpu import NO_GPU, agree, normal, on_gpu  # noqa: E402

import autoperfect as ap  # noqa: E402
from autoperfect import _core  # noqa: E402

ROWS, COLUMNS = 8192, 1024  # tests that look at a winner have columns of their own: kernels are kept


def program(x, w):
    return x * mx.rsqrt(mx.mean(x * x, axis=-1, keepdims=True) + 1e-5) * w


# Four neighbours a thread, a block a row.
def draft(columns=COLUMNS, guard="aligned 16"):
    return f"""// launch: grid=n_i block={columns // 4}
// guard: {guard}
__shared__ float parts[{columns // 128}];
const float4 x = ((const float4*)(in0 + (long)blockIdx.x * n_j))[threadIdx.x];
const float4 w = ((const float4*)in1)[threadIdx.x];
float sum = x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w;
for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
__syncthreads();
float all = 0.0f;
for (int k = 0; k < {columns // 128}; ++k) all += parts[k];
const float scale = rsqrtf(all * {1 / columns}f + 1e-5f);
float4 y;
y.x = x.x * scale * w.x;
y.y = x.y * scale * w.y;
y.z = x.z * scale * w.z;
y.w = x.w * scale * w.w;
((float4*)(out0 + (long)blockIdx.x * n_j))[threadIdx.x] = y;
"""


RIGHT = draft()
WRONG = RIGHT.replace("1e-5f", "1e-3f")
MISSPELLED = RIGHT.replace("in1", "weights")


def arguments(columns=COLUMNS):
    return normal(ROWS, columns), normal(columns, key=2)


def contract(columns=COLUMNS):
    fast = ap.compile(program)
    mx.eval(fast(*arguments(columns)))
    return fast.kernels[fast.kernels.index("autoperfect.kernel") :].strip() + "\n"


def author(folder, first, then):
    """A program that answers `first`, and `then` once it is told what was wrong."""
    script = pathlib.Path(folder) / "author.py"
    script.write_text(
        f"import sys\nagain = 'Your last answer' in sys.stdin.read()\nprint('```\\n' + ({then!r} if again else {first!r}) + '```')\n")
    return f"command:{sys.executable} {script}"


def tune(model, columns=COLUMNS, **options):
    request = {"model": model, "variants": 1, "repairs": 0, "schedules": False, "seed": 7, "progress": False, **options}
    return _core.tune_kernels([contract(columns)], request)[0]


def lives(row):
    return [(a["round"], a["repair"], a["language"], a["stage"], a["admitted"]) for a in row["attempts"] if a["round"]]


@on_gpu
def test_gate_admits_a_right_draft_and_times_it():
    report = ap.gate(contract(), RIGHT, seed=5)
    assert report and report.stage == "gate" and report.arms >= 2, report
    assert report.isolation == "process, guard pages on the GPU", report.isolation
    assert len(report.families) > 10 and all(family["passed"] for family in report.families)
    assert report.seconds > 0 and report.built_in_seconds > 0 and set(report.baselines) == {"eager", "mx.compile"}
    others = min(report.built_in_seconds, *(s / 1.03 for s in report.baselines.values()))
    if report.won:
        assert report.seconds < 1.03 * others, report
    else:
        assert report.seconds > 0.95 * others, report
    print(report.text, flush=True)


@on_gpu
def test_gate_refuses_what_is_wrong_misspelled_or_for_another_machine():
    text = contract()
    wrong = ap.gate(text, WRONG)
    assert not wrong and wrong.stage == "gate" and "expected" in wrong.reason, wrong
    misspelled = ap.gate(text, MISSPELLED)
    assert not misspelled and misspelled.stage == "check" and "weights" in misspelled.reason, misspelled
    type_error = ap.gate(text, RIGHT.replace("float4 y;", "float2 y;"))
    assert not type_error and type_error.stage == "compile" and "16 |" in type_error.reason, type_error
    other = ap.gate(text, "// launch: parallel=i\nout0[begin] = in0[begin];\n", language="cpu")
    assert not other and "runs nothing in language 'cpu'" in other.reason, other


FRESH = """
import sys
sys.path.insert(0, {root!r} + "/tests/device")
import test_drafts_gpu as tests
tests.mx.set_default_device(tests.mx.gpu)
fast = tests.ap.compile(tests.program)
x, w = tests.arguments()
tests.agree(fast(x, w), tests.program(x, w))
row = fast.outcomes()[0]
print(row["from_cache"], row["use_mlx"], row["provenance"])
"""


@on_gpu
def test_a_repaired_draft_wins_and_a_process_without_a_model_runs_it():
    """Beside MLX alone, which has no such kernel: it must win."""
    with tempfile.TemporaryDirectory() as folder:
        row = tune(author(folder, WRONG, RIGHT), repairs=1)
        assert lives(row) == [(1, 0, "cuda", "gate", False), (1, 1, "cuda", "gate", True)], row["text"]
        assert not row["use_mlx"] and row["provenance"].startswith("model:"), row["text"]
        done = subprocess.run(
            [sys.executable, "-c", FRESH.format(root=str(ROOT))], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("True False model:"), done.stdout


def tuned_function(columns, guard):
    """ap.compile of the program, for whose kernel a draft won just now; seen first at the size that was tuned."""
    written = draft(columns, guard)
    with tempfile.TemporaryDirectory() as folder:
        row = tune(author(folder, written, written), columns)
    assert not row["use_mlx"] and row["provenance"].startswith("model:"), row["text"]
    fast = ap.compile(program)
    x, w = arguments(columns)
    agree(fast(x, w), program(x, w))
    assert fast.outcomes()[0]["provenance"].startswith("model:"), fast.outcomes()
    return fast, x, w


@on_gpu
def test_what_is_less_aligned_is_copied():
    fast, x, w = tuned_function(512, "aligned 16")
    shifted = mx.concatenate([mx.zeros((1,)), x.reshape(-1)])[1:].reshape(x.shape)
    mx.eval(shifted)
    for given in (x[:1], x[:7], shifted, shifted[3:], x[::2], mx.contiguous(x.T).T):
        agree(fast(given, w), program(given, w))


@on_gpu
def test_sizes_a_guard_excludes_run_in_mlx():
    fast, x, w = tuned_function(2048, "aligned 16, n_i % 64 == 0")
    for rows in (ROWS - 1, 64, 3):
        agree(fast(x[:rows], w), program(x[:rows], w))


@on_gpu
def test_answers_of_a_folder_and_recorded_ones():
    with tempfile.TemporaryDirectory() as folder:
        box, kept = pathlib.Path(folder) / "box", pathlib.Path(folder) / "kept"
        box.mkdir()
        row = tune(f"folder:{box}", timed=False, target="cuda.h200")
        assert lives(row)[0][3] == "ask", row["text"]
        (prompt,) = box.glob("*.prompt.md")
        (box / prompt.name.replace("prompt", "answer")).write_text(f"```\n{RIGHT}```\n")
        assert lives(tune(f"folder:{box}", timed=False, target="cuda.h200")) == [(1, 0, "cuda", "gate", True)]
        options = {"timed": False, "target": "cuda.h200", "repairs": 1}
        recorded = tune(author(folder, MISSPELLED, RIGHT), settings={"record": str(kept)}, **options)
        played = [tune(f"replay:{kept}", **options) for _ in range(2)]
        assert lives(played[0]) == lives(recorded) == [(1, 0, "cuda", "check", False), (1, 1, "cuda", "gate", True)]
        assert played[0]["evidence"] == played[1]["evidence"]


@on_gpu
def test_tune_asks_for_cuda_and_the_report_runs_what_won():
    x, w = arguments()
    with tempfile.TemporaryDirectory() as folder:
        report = ap.tune(program, x, w, model=author(folder, RIGHT, RIGHT), variants=1, repairs=0, progress=False)
    attempts = [a for a in report.regions[0]["attempts"] if a["round"] == 1]
    assert [(a["language"], a["admitted"]) for a in attempts] == [("cuda", True)], str(report)
    agree(report.function(x, w), program(x, w))


@on_gpu
def test_the_command_line_gates_a_draft():
    with tempfile.TemporaryDirectory() as folder:
        kernel, source = pathlib.Path(folder) / "kernel.ap", pathlib.Path(folder) / "kernel.cu"
        kernel.write_text(contract())
        for text, said in ((RIGHT, "by hand: cuda: admitted"), (WRONG, "by hand: cuda: rejected by gate")):
            source.write_text(text)
            done = subprocess.run(
                [sys.executable, "-m", "autoperfect", "gate", kernel, "--source", source, "--target", "cuda.sm_90"],
                capture_output=True, text=True, timeout=120)  # fmt: skip
            assert said in done.stdout, done.stdout + done.stderr


try:
    import pytest

    pytestmark = pytest.mark.skipif(not mx.is_available(mx.gpu), reason=NO_GPU)
except ImportError:  # a GPU machine need not have it
    pass

if __name__ == "__main__":
    if not mx.is_available(mx.gpu):
        sys.exit(NO_GPU)
    failed = 0
    for name in sys.argv[1:] or [name for name in globals() if name.startswith("test_")]:
        try:
            globals()[name]()
            print(f"passed {name}", flush=True)
        except Exception:
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
    sys.exit(bool(failed))
