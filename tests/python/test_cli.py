"""The command on programs: exported files and module:function."""

import json
import os
import subprocess
import sys

import mlx.core as mx
import pytest


def softplus(x, w):
    return mx.log1p(mx.exp(x * w))


def command(*arguments, cwd=None, **variables):
    return subprocess.run(
        [sys.executable, "-m", "autoperfect", *arguments], capture_output=True, text=True, cwd=cwd, timeout=120,
        env={**os.environ, **variables})


@pytest.fixture
def exported(tmp_path):
    path = str(tmp_path / "softplus.mlxfn")
    mx.export_function(path, softplus, mx.zeros((512, 64)), mx.zeros((64,)))
    return path


def test_capture_of_an_exported_function(exported):
    done = command("capture", exported, "f32[512,64]", "f32[64]")
    assert done.returncode == 0, done.stderr
    assert "exp" in done.stdout and "log1p" in done.stdout and "%x0: f32[512,64]" in done.stdout


def test_capture_without_types_says_what_is_missing(exported):
    done = command("capture", exported)
    assert done.returncode == 1
    assert "give the type of each argument" in done.stderr


def test_capture_of_a_file_that_is_none(tmp_path):
    path = tmp_path / "broken.mlxfn"
    path.write_bytes(b"nothing")
    assert command("capture", str(path), "f32[2]").returncode == 1


def test_explain_of_an_exported_function(exported):
    done = command("explain", exported, "f32[512,64]", "f32[64]")
    assert done.returncode == 0, done.stderr
    assert "region 0: elementwise" in done.stdout


def test_module_and_function(tmp_path):
    (tmp_path / "program.py").write_text("import mlx.core as mx\ndef f(x):\n    return mx.exp(x).sum(axis=-1)\n")
    done = command("explain", "program:f", "f32[256,300]", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "row_reduction" in done.stdout
    assert command("capture", "program:f", "f32[256,300]", cwd=tmp_path).stdout.startswith("autoperfect.graph 1")
    assert "no type" in command("explain", "program:f", "float", cwd=tmp_path).stderr


def test_entries_of_the_cache_are_shown(tmp_path):
    (tmp_path / "program.py").write_text("import mlx.core as mx\ndef f(x):\n    return mx.exp(x) * mx.sin(x)\n")
    cache = {"AUTOPERFECT_CACHE_DIR": str(tmp_path / "kept")}
    assert command("explain", "program:f", "f32[512,300]", cwd=tmp_path, **cache).returncode == 0
    (row,) = json.loads(command("cache", "ls", "--json", **cache).stdout)
    shown = command("cache", "show", row["file"], **cache)
    assert shown.returncode == 0, shown.stderr
    parts = [line for line in shown.stdout.splitlines() if line.startswith("== ")]
    assert parts[:2] == ["== key", "== kernel"] and parts[-2] == "== evidence", parts
    assert parts[-1].startswith("== binary: ") and "autoperfect.kernel 1" in shown.stdout
    if not row["use_mlx"]:
        assert f"== source: {row['kernel']}" in parts and "autoperfect_kernel" in shown.stdout
    (tmp_path / "kept" / row["file"]).write_bytes(b"damaged")
    for name in (row["file"], "nothing.entry", "../" + row["file"]):
        refused = command("cache", "show", name, **cache)
        assert refused.returncode == 1 and "no such entry" in refused.stderr, refused
