"""The ``autoperfect`` command: the program that lies beside this file, and ``module:function`` programs through Python."""

import importlib
import os
import pathlib
import re
import sys

_DTYPES = {
    "bool": "bool_", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64",
    "c64": "complex64",
}  # fmt: skip


def _argument(text):
    """Zeros of a type written as in the texts, such as f32[4,8]."""
    import mlx.core as mx

    found = re.fullmatch(r"(\w+)\[((?:\d+(?:,\s*\d+)*)?)\]", text)
    if not found or found[1] not in _DTYPES:
        sys.exit(f"autoperfect: '{text}' is no type of an argument: write one such as f32[4,8]")
    shape = [int(size) for size in found[2].split(",") if size]
    return mx.zeros(shape, getattr(mx, _DTYPES[found[1]]))


def _show(command, program, types):
    import mlx.core as mx

    import autoperfect

    mx.set_default_device(mx.cpu)  # kernels are for the CPU; where MLX has a GPU it would be the default
    module, name = program.split(":")
    sys.path.insert(0, os.getcwd())
    function = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    arguments = [_argument(text) for text in types]
    fast = autoperfect.compile(function)
    explained = autoperfect.explain(fast, *arguments)
    print(fast.graph if command == "capture" else explained, end="")


def main():
    program = pathlib.Path(__file__).parent / "autoperfect"
    if not program.is_file():
        sys.exit(f"autoperfect: {program} is missing: build the target autoperfect-cli")
    arguments = sys.argv[1:]
    if len(arguments) > 1 and arguments[0] in ("capture", "explain") and re.fullmatch(r"[\w.]+:[\w.]+", arguments[1]):
        return _show(arguments[0], arguments[1], arguments[2:])
    os.execv(program, [str(program), *arguments])


if __name__ == "__main__":
    main()
