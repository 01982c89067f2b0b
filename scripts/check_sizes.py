"""Files over 500 lines fail; functions over 60 lines are listed, so that they get split while they are young."""

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "include", "python", "tests", "benchmarks", "workloads", "scripts")
DRAFTS = ROOT / "tests" / "cheats"  # in its folders lies what models and people might write, as they would
FILE_LIMIT, FUNCTION_LIMIT = 500, 60
CPP_SCOPE = re.compile(r"^\s*(namespace|class|struct|enum|union|extern)\b")


def source_files():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if DRAFTS in path.parents and path.parent != DRAFTS:
                continue
            if path.suffix in (".h", ".cpp", ".def", ".py") and "__pycache__" not in path.parts:
                yield path


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1, node.name


def cpp_functions(text):
    """Top-level braced blocks that are no namespace or type, by formatted indentation: the opening line ends in `{`,
    the closing line is `}` at the same indentation."""
    open_blocks = []
    for number, line in enumerate(text.splitlines(), 1):
        indent = len(line) - len(line.lstrip())
        stripped = line.strip()
        if stripped.startswith("}") and open_blocks and open_blocks[-1][0] == indent:
            _, start, head = open_blocks.pop()
            if head is not None:
                yield start, number - start + 1, head
        if stripped.endswith("{") and not stripped.startswith("}"):
            inside_function = any(head is not None for _, _, head in open_blocks)
            is_scope = inside_function or CPP_SCOPE.match(line) or "(" not in text_before(text, number)
            open_blocks.append((indent, number, None if is_scope else stripped[:60]))


def text_before(text, number):
    """The declaration that ends on this line: the lines back to the one that closed the last statement."""
    lines = text.splitlines()[:number]
    taken = [lines[-1]]
    for line in reversed(lines[:-1]):
        if not line.strip() or line.rstrip().endswith((";", "}", "{", ":")):
            break
        taken.append(line)
    return " ".join(reversed(taken))


def main():
    too_long = []
    for path in source_files():
        text = path.read_text()
        name = path.relative_to(ROOT)
        lines = text.count("\n")
        if lines > FILE_LIMIT:
            too_long.append(f"{name}: {lines} lines, the limit is {FILE_LIMIT}: split it by meaning")
        functions = python_functions(text) if path.suffix == ".py" else cpp_functions(text)
        for line, length, head in functions:
            if length > FUNCTION_LIMIT:
                print(f"{name}:{line}: {length} lines: {head}")
    print(*too_long, sep="\n", end="\n" if too_long else "")
    sys.exit(1 if too_long else 0)


if __name__ == "__main__":
    main()
