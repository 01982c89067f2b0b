"""`autoperfect run` and `check`: arrays in .npy files, what is said of those that do not fit, and the help."""

import subprocess

import mlx.core as mx
import numpy as np
import pytest
from reference_executor import CLI

NUMPY_TYPES = {
    "bool": np.bool_, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "i8": np.int8,
    "i16": np.int16, "i32": np.int32, "i64": np.int64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def command(*arguments, text=None):
    return subprocess.run([CLI, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=60)


def copy_kernel(dtype, shape="2,3", axes="i=2, j=3", index="i,j"):
    return (
        f"autoperfect.kernel 1\nkernel @copied {{\n  abi {{\n    in %x: {dtype}[{shape}] row\n"
        f"    out %y: {dtype}[{shape}] row\n  }}\n  math {{\n    axes {axes}\n    %y[{index}] = copy %x[{index}] : {dtype}\n"
        "  }\n  numerics {\n    accumulate f32\n  }\n}\n"
    )


@pytest.fixture
def run_copy(tmp_path):
    """Saves the array, runs a copy of it and gives back what the command wrote, or its complaint."""

    def run(kernel, array, save=np.save):
        (tmp_path / "kernel.ap").write_text(kernel)
        save(str(tmp_path / "x.npy"), array)
        done = command("run", tmp_path / "kernel.ap", "--inputs", tmp_path / "x.npy", "--outputs", tmp_path / "y.npy")
        return np.load(tmp_path / "y.npy") if done.returncode == 0 else done.stderr.replace(str(tmp_path), "")

    return run


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_dtype_of_numpy(dtype, order, run_copy):
    x = np.array([[0, 1, 2], [3, 100, 7]]).astype(NUMPY_TYPES[dtype], order=order)
    y = run_copy(copy_kernel(dtype), x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, x)


def test_complex_numbers(tmp_path):
    np.save(tmp_path / "x.npy", np.array([1 + 2j, 0.5j], np.complex64))
    graph = "autoperfect.graph 1\ngraph @f(%x: c64[2]) {\n  %y = square %x : c64[2]\n  return %y\n}\n"
    done = command("run", "-", "--inputs", tmp_path / "x.npy", text=graph)
    assert done.returncode == 0 and done.stdout == "%y: c64[2] = [(-3.0, 4.0), (-0.25, 0.0)]\n"


def test_bf16_from_mlx_and_back(run_copy, tmp_path):
    x = mx.array([[1.0, -2.5, 3e38], [float("inf"), 0.1, -0.0]]).astype(mx.bfloat16)
    y = run_copy(copy_kernel("bf16"), x, save=mx.save)
    assert y.dtype == np.dtype("V2")
    assert mx.array_equal(mx.load(str(tmp_path / "y.npy")), x)
    assert mx.array_equal(mx.array(y.view(np.uint16)).view(mx.bfloat16), x)


def test_bf16_as_its_bits(run_copy):
    bits = np.array([[0x3F80, 0xC020, 0x7F80], [0x8000, 0x0001, 0x7FC0]], np.uint16)
    np.testing.assert_array_equal(run_copy(copy_kernel("bf16"), bits).view(np.uint16), bits)


def test_arrays_that_mlx_saved(run_copy):
    for x in (mx.arange(6).astype(mx.float32).reshape(2, 3), mx.arange(6).astype(mx.float32).reshape(3, 2).T):
        np.testing.assert_array_equal(run_copy(copy_kernel("f32"), x, save=mx.save), np.array(x))


def test_sizes_of_dynamic_axes_are_those_of_the_inputs(run_copy):
    kernel = copy_kernel("i32", "?i,3", "i=?2, j=3")
    for rows in (1, 2, 5):
        x = np.arange(3 * rows, dtype=np.int32).reshape(rows, 3)
        np.testing.assert_array_equal(run_copy(kernel, x), x)


def test_the_oracle_writes_doubles(tmp_path):
    np.save(tmp_path / "x.npy", np.full((2, 3), 0.5, np.float32))
    kernel = copy_kernel("f32").replace("copy", "exp")
    done = command("run", "-", "--oracle", "--inputs", tmp_path / "x.npy", "--outputs", tmp_path / "y.npy", text=kernel)
    assert done.returncode == 0, done.stderr
    y = np.load(tmp_path / "y.npy")
    assert y.dtype == np.float64
    np.testing.assert_array_equal(y, np.full((2, 3), np.exp(0.5)))


def test_a_scalar(run_copy):
    y = run_copy(copy_kernel("f32", "", "i=1", ""), np.float32(2.5))
    assert y.shape == () and y == np.float32(2.5)


def test_another_dtype_is_said_with_what_to_do(run_copy):
    wrong = run_copy(copy_kernel("f32"), np.zeros((2, 3)))
    assert "'/x.npy' has dtype '<f8', f32 is '<f4'" in wrong
    assert "hint: np.save(path, x.astype(np.float32))" in wrong
    assert "f32 is '<f4'" in run_copy(copy_kernel("f32"), np.zeros((2, 3), ">f4"))
    assert "mx.bfloat16" in run_copy(copy_kernel("bf16"), np.zeros((2, 3), np.float32))


def test_another_shape_is_said(run_copy):
    kernel = copy_kernel("f32", "?i,3", "i=?2, j=3")
    wrong = run_copy(kernel, np.zeros((3, 2), np.float32))
    assert "'/x.npy' is f32[3,2], the program takes %x: f32[?i,3]" in wrong
    assert "the program takes" in run_copy(kernel, np.zeros(3, np.float32))


def test_a_dynamic_axis_has_one_size(tmp_path):
    kernel = copy_kernel("f32", "?i,3", "i=?2, j=3").replace("copy %x[i,j]", "add %x[i,j], %w[i]")
    kernel = kernel.replace("    out", "    in %w: f32[?i] row\n    out")
    np.save(tmp_path / "x.npy", np.zeros((4, 3), np.float32))
    np.save(tmp_path / "w.npy", np.zeros(5, np.float32))
    done = command("run", "-", "--inputs", tmp_path / "x.npy", tmp_path / "w.npy", text=kernel)
    assert done.returncode == 1
    assert "error[input-type]: %w is f32[5], not f32[4]" in done.stderr


def test_files_that_are_none(run_copy, tmp_path):
    def save(content):
        return lambda path, array: open(path, "wb").write(content)

    whole = tmp_path / "whole.npy"
    np.save(whole, np.zeros((2, 3), np.float32))
    content = whole.read_bytes()
    kernel = copy_kernel("f32")
    assert "is no .npy file" in run_copy(kernel, None, save(b"nothing"))
    assert "is no .npy file" in run_copy(kernel, None, save(b""))
    assert "has 23 bytes for f32[2,3]" in run_copy(kernel, None, save(content[:-1]))
    assert "has 0 bytes" in run_copy(kernel, None, save(content[:128]))
    assert "has dtype" in run_copy(kernel, None, save(content[:20]))
    assert "has no shape" in run_copy(kernel, None, save(content.replace(b"(2, 3)", b"(2, x)")))
    assert "has no shape" in run_copy(kernel, None, save(content.replace(b"(2, 3)", b"(-2,3)")))
    done = command("run", tmp_path / "kernel.ap", "--inputs", tmp_path / "absent.npy")
    assert done.returncode == 1 and "cannot be read" in done.stderr


def test_numbers_of_files_are_checked(tmp_path):
    kernel = copy_kernel("f32")
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    done = command("run", "-", "--data", "1", "--data", "2", text=kernel)
    assert done.returncode == 1
    assert "2 inputs are given, the program has 1" in done.stderr and "hint: in order: %x: f32[2,3]" in done.stderr
    done = command("run", "-", "--inputs", tmp_path / "x.npy", "--outputs", "a.npy", "b.npy", text=kernel)
    assert done.returncode == 1
    assert "2 files for 1 outputs" in done.stderr and "hint: in order: %y: f32[2,3]" in done.stderr


def test_check_says_what_it_read_or_every_violation():
    good = command("check", text=copy_kernel("f32"))
    assert good.returncode == 0
    assert good.stdout.startswith("ok: kernel @copied: 1 input, 1 value, 1 output, signature ")
    bad = command("check", text=copy_kernel("f32").replace("copy", "cpy").replace("accumulate f32", "accumulate i32"))
    assert bad.returncode == 1 and bad.stdout == ""
    assert "error[unknown-op]" in bad.stderr and "did you mean 'copy'?" in bad.stderr and "^" in bad.stderr
    assert "error[bad-accumulate]" in bad.stderr


GOOD_DRAFT = """// launch: parallel=i
for (long u = begin; u < end; ++u)
  for (long j = 0; j < n_j; ++j) out0[u * n_j + j] = in0[u * n_j + j];
"""
BAD_DRAFT = """#include <x>
for (long u = begin; u < end; ++u) {
  out0[u] = expp(2);
  in0[u] = 1;
}
"""
BAD_CODES = ("bad-launch", "preprocessor", "unknown-call", "writes-input")


@pytest.mark.parametrize(
    "name, language, source, said",
    [
        ("good.cpp", (), GOOD_DRAFT, "ok: cpu draft, 1 arm, 0 constants\n  line 2: loop body\n"),
        ("good.py", ("--language", "mlx"), "out0 = mx.contiguous(in0)\n", "ok: mlx draft, 0 arms, 0 constants\n"),
        ("bad.cpp", (), BAD_DRAFT, BAD_CODES),
        ("bad.py", ("--language", "mlx"), "a = mx.softmax(in0)\nout0 = mx.add(in0, b)\n", ("high-level-call", "undefined-value")),
    ],
)
def test_check_of_a_source(tmp_path, name, language, source, said):
    (tmp_path / "kernel.ap").write_text(copy_kernel("f32"))
    (tmp_path / name).write_text(source)
    done = command("check", tmp_path / "kernel.ap", "--source", tmp_path / name, *language)
    if isinstance(said, str):
        assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
        return
    assert done.returncode == 1 and done.stdout == ""
    found = [line.partition("[")[2].partition("]")[0] for line in done.stderr.splitlines() if line.startswith("check: error[")]
    assert tuple(found) == said
    assert "did you mean 'exp'?" in done.stderr or "write the formula" in done.stderr


COPY_IN_CUDA = """// launch: grid=1 block=32
for (int at = threadIdx.x; at < n_i * n_j; at += 32) out0[at] = in0[at];
"""


@pytest.mark.parametrize(
    "suffix, target, source, wrong, magic",
    [
        ("cpp", (), GOOD_DRAFT, "out0[u * n_j + j] = in0;", "so"),
        ("cu", ("--target", "cuda.sm_90"), COPY_IN_CUDA, "float2 v = in0[at];", "cubin"),
    ],
)
def test_a_draft_is_compiled(tmp_path, suffix, target, source, wrong, magic):
    kernel, draft = tmp_path / "kernel.ap", tmp_path / f"draft.{suffix}"
    kernel.write_text(copy_kernel("f32"))
    draft.write_text(source)
    done = command("compile", kernel, "--source", draft, "--to", tmp_path, *target)
    if "no-nvrtc" in done.stderr:
        pytest.skip("NVRTC is not installed")
    assert done.returncode == 0 and done.stdout.startswith(f"{draft}: "), done.stderr
    assert (tmp_path / f"0.{magic}").read_bytes()[1:4] == b"ELF"
    draft.write_text(source + wrong + "\n")
    done = command("compile", kernel, "--source", draft, *target)
    assert done.returncode == 1 and done.stdout == ""
    assert f"{len(source.splitlines()) + 1} | {wrong}" in done.stderr, done.stderr
    assert "the draft was rejected by c" in done.stderr
    other = command("compile", kernel, "--source", draft.rename(tmp_path / "draft.metal"), *target)
    assert other.returncode == 1 and "runs no drafts in 'metal'" in other.stderr


def test_help_says_how_bf16_is_stored():
    done = command("run", "--help")
    assert done.returncode == 0
    assert "NumPy has no bf16" in done.stdout and "--inputs x.npy" in done.stdout
