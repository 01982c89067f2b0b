"""The table of ops and MLX's installed headers name the same primitives."""

import pathlib
import re
import subprocess
import sys

import mlx.core as mx

INCLUDE = pathlib.Path(mx.__file__).parent / "include" / "mlx"
HEADERS = {"primitives.h": "", "fast_primitives.h": "fast::", "distributed/primitives.h": "distributed::"}
ABSTRACT = {"UnaryPrimitive", "fast::Custom", "distributed::DistPrimitive"}
CLASS = re.compile(r"^class (?:MLX_API )?(\w+) : public \w+", re.MULTILINE)


def primitives_of_mlx():
    found = set()
    for header, prefix in HEADERS.items():
        found |= {prefix + name for name in CLASS.findall((INCLUDE / header).read_text())}
    return found - ABSTRACT


def table():
    listing = subprocess.run(
        [sys.executable, "-m", "autoperfect", "ops"], capture_output=True, text=True, check=True, timeout=60).stdout
    rows = {}
    for line in listing.splitlines():
        name, rest = line.split(": ", 1)
        parts = rest.split("; ")
        classes = [part[4:].split(", ") for part in parts if part.startswith("MLX ")]
        rows[name] = {"class": rest.split(",")[0], "text": rest, "primitives": set(classes[0] if classes else [])}
    return rows


def test_headers_were_read():
    found = primitives_of_mlx()
    assert len(found) > 125
    assert {"Add", "Compiled", "LUF", "fast::RoPE", "distributed::Send"} <= found


def test_every_primitive_has_an_op():
    known = set().union(*(row["primitives"] for row in table().values()))
    assert primitives_of_mlx() - known == set()


def test_every_primitive_of_the_table_exists():
    for name, row in table().items():
        assert row["primitives"] <= primitives_of_mlx(), name


def test_only_ops_of_the_text_alone_have_no_primitive():
    without = {name for name, row in table().items() if not row["primitives"]}
    assert without == {"const", "log_softmax", "mean", "var", "std", "opaque"}


def test_barriers_say_why():
    rows = table()
    assert "sorts or partitions" in rows["arg_sort"]["text"]
    assert "draws random bits" in rows["random_bits"]["text"]
    assert "factorizes matrices" in rows["svd"]["text"]
    assert "talks to other processes" in rows["all_reduce"]["text"]
    for name, row in rows.items():
        reasons = [part for part in row["text"].split("; ")[1:] if not part.startswith("MLX ")]
        assert len(reasons) == (row["class"] == "barrier"), name
