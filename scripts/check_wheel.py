"""Builds the wheel, installs it with its dependencies into a new environment, and uses it there: import and compile(),
the command, and a C++ program through find_package(autoperfect)."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

PYTHON_USE = """
import pathlib, sys
import mlx.core as mx
import autoperfect as ap
assert pathlib.Path(ap.__file__).is_relative_to(sys.prefix), ap.__file__
x = mx.random.normal((64, 256))
def program(x): return mx.softmax(x * 2, axis=-1)
assert mx.allclose(ap.compile(program)(x), program(x), rtol=1e-5, atol=1e-7).item()
"""

CPP_USE = """
#include <autoperfect/autoperfect.h>

#include <cstdio>

#include "mlx/mlx.h"

namespace mx = mlx::core;

int main() {
  auto program = [](const std::vector<mx::array>& in) { return std::vector<mx::array>{mx::sum(mx::exp(in[0]))}; };
  auto fast = autoperfect::compile(program);
  auto x = mx::full({4, 64}, 0.0f);
  float value = fast({x})[0].item<float>();
  std::printf("%g\\n", value);
  return value == 256.0f ? 0 : 1;
}
"""

CPP_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(autoperfect 0.1 REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE autoperfect::autoperfect)
"""


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        print(done.stdout[-6000:] + done.stderr[-6000:])
        raise SystemExit(f"0 passed, 1 failed: {' '.join(map(str, command))}")
    return done.stdout.strip()


def build_wheel(work):
    shutil.rmtree(work / "dist", ignore_errors=True)
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", work / "dist", ROOT)
    (wheel,) = (work / "dist").glob("autoperfect-*.whl")
    print(f"ok: {wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB")
    return wheel


def install(work, wheel):
    environment = work / "env"
    run(sys.executable, "-m", "venv", "--without-pip", "--clear", environment)
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", wheel)
    print("ok: installed with its dependencies")
    return python


def use_cpp(work, python, variables):
    project = work / "consumer"
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir(parents=True)
    (project / "main.cpp").write_text(CPP_USE)
    (project / "CMakeLists.txt").write_text(CPP_PROJECT)
    package = run(python, "-c", "import autoperfect, pathlib; print(pathlib.Path(autoperfect.__file__).parent)", cwd=work)
    run("cmake", "-S", project, "-B", project / "build", "-G", "Ninja", f"-Dautoperfect_ROOT={package}")
    run("cmake", "--build", project / "build")
    print("ok: C++ program:", run(project / "build" / "consumer", env=variables))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "wheel-test")
    work = options.parse_args().work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    variables["AUTOPERFECT_CACHE_DIR"] = str(work / "cache")
    python = install(work, build_wheel(work))
    run(python, "-c", PYTHON_USE, cwd=work, env=variables)
    print("ok: import and compile()")
    run(python.parent / "autoperfect", "--help", cwd=work, env=variables)
    print("ok: command `autoperfect`")
    use_cpp(work, python, variables)
    print("5 passed, 0 failed")


if __name__ == "__main__":
    main()
