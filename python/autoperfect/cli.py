"""The ``autoperfect`` command: the program that lies beside this file, and ``module:function`` programs through Python."""

import argparse
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


def _numerics(arguments):
    """The value of --numerics, which is taken out of the arguments."""
    for n, argument in enumerate(arguments):
        if argument == "--numerics" and n + 1 < len(arguments):
            del arguments[n]
            return arguments.pop(n)
        if argument.startswith("--numerics="):
            return arguments.pop(n).partition("=")[2]
    return "mlx"


def _load(program, language=None):
    import mlx.core as mx

    # Where MLX has a GPU that would be the default; it is used where its language is asked for.
    mx.set_default_device(mx.gpu if language == "cuda" and mx.is_available(mx.gpu) else mx.cpu)
    module, name = program.split(":")
    sys.path.insert(0, os.getcwd())
    function = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    return function


def _tune(program, words):
    import autoperfect

    parser = argparse.ArgumentParser(prog="autoperfect tune module:function", description=autoperfect.tune.__doc__.split("\n")[0])
    parser.add_argument("types", nargs="*", help="of the arguments: f32[4,8] ...")
    parser.add_argument("--model", help="who writes kernels: URL, command:..., folder:..., replay:...")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the model")
    parser.add_argument("--language", default=None)
    for name, value in (("variants", 4), ("repairs", 2), ("rounds", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--budget", type=float, help="seconds after which nothing more is asked")
    parser.add_argument("--isolation", help="least level: none, process, seccomp, landlock")
    parser.add_argument("--progress", action="store_true", default=None, help="show it also when not on a terminal")
    chosen = vars(parser.parse_args(words))
    settings = dict(setting.partition("=")[::2] for setting in chosen.pop("set"))
    arguments = [_argument(text) for text in chosen.pop("types")]
    try:
        print(autoperfect.tune(_load(program, chosen["language"]), *arguments, settings=settings, **chosen), end="")
    except KeyboardInterrupt:
        print("autoperfect: stopped; kernels that won so far are kept", file=sys.stderr)
        sys.exit(130)
    except ValueError as error:
        print(f"autoperfect: error: {error}", file=sys.stderr)
        sys.exit(2)


def _show(command, program, types):
    import autoperfect

    function = _load(program)
    numerics = _numerics(types)
    arguments = [_argument(text) for text in types]
    fast = autoperfect.compile(function, numerics=numerics)
    explained = autoperfect.explain(fast, *arguments)
    print(fast.graph if command == "capture" else explained, end="")


def main():
    program = pathlib.Path(__file__).parent / "autoperfect"
    if not program.is_file():
        sys.exit(f"autoperfect: {program} is missing: build the target autoperfect-cli")
    arguments = sys.argv[1:]
    is_program = len(arguments) > 1 and re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", arguments[1])
    if is_program and arguments[0] == "tune":
        return _tune(arguments[1], arguments[2:])
    if is_program and arguments[0] in ("capture", "explain"):
        return _show(arguments[0], arguments[1], arguments[2:])
    os.execv(program, [str(program), *arguments])


if __name__ == "__main__":
    main()
