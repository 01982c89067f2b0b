"""Tuning with a model, which is a program that answers from a table: rounds, repairs, texts of MLX, Ctrl-C, and what a
process without a model runs afterwards."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import mlx.core as mx
import numpy as np
import pytest

import autoperfect as ap
from autoperfect import _core

CONTRACT = """autoperfect.kernel 1
kernel @secret_name {
  abi {
    in %secret_input: f32[?i,512] row
    in %w: f32[512] row
    out %y: f32[?i,512] row
  }
  math {
    axes i=?4096, j=512
    %d[i,j] = mul %secret_input[i,j], %w[j] : f32
    %y[i,j] = add %d[i,j], 1.0 : f32
  }
  numerics {
    accumulate f32
    reassociate yes
    budget ulp=6.0 abs=0.0 rel=0.0
  }
}
"""


def program(x, w):
    return x * w + 1.0


RIGHT = """// launch: parallel=i grain=32
for (long i = begin; i < end; ++i)
  for (long j = 0; j < n_j; ++j)
    out0[i * n_j + j] = in0[i * n_j + j] * in1[j] + 1.0f;
"""
WRONG = RIGHT.replace("1.0f", "1.5f")
MISSPELLED = RIGHT.replace("in1", "weights")


def largest(x):
    m = x.max(axis=-1, keepdims=True)
    for _ in range(6):
        m = mx.maximum(x, m).max(axis=-1, keepdims=True)
    return m


LARGEST = "out0 = mx.max(in0, axis=1, keepdims=True)\n"

ANSWERING = """
import json, sys, time
prompt = sys.stdin.read()
open({log!r}, "a").write(json.dumps(prompt) + "\\n")
for words, seconds, answer in {table!r}:
    if all((word[1:] not in prompt) if word.startswith("!") else (word in prompt) for word in words):
        time.sleep(seconds)
        print("Here it is.\\n```\\n" + answer + "```")
        break
"""


class Author:
    """A model of a table: the first row (words, answer) all of whose words are in the prompt; `!word`: is not."""

    def __init__(self, folder, *rows):
        self.log = folder / "prompts.jsonl"
        table = [(row[0], row[2] if len(row) > 2 else 0, row[1]) for row in rows]
        script = folder / "author.py"
        script.write_text(ANSWERING.format(log=str(self.log), table=table))
        self.spec = f"command:{sys.executable} {script}"

    def prompts(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def tune(author, contract=CONTRACT, **options):
    request = {"model": author.spec, "variants": 1, "repairs": 0, "schedules": False, "seed": 7, "timed": False, **options}
    return _core.tune_kernels([contract], request)[0]


def lives(row):
    return [(a["round"], a["variant"], a["repair"], a["stage"], a["admitted"]) for a in row["attempts"] if a["round"]]


def arguments():
    return mx.random.normal((4096, 512), key=mx.random.key(1)), mx.random.normal((512,), key=mx.random.key(2))


def test_a_right_draft_is_admitted_and_wins(tmp_path):
    row = tune(Author(tmp_path, ([], RIGHT)))
    assert lives(row) == [(1, 0, 0, "gate", True)]
    assert row["attempts"][0]["won"] and not row["use_mlx"], row["text"]
    assert row["attempts"][0]["arms"] > 0
    assert "won" in row["text"] and "round=1 variant=0" in row["text"]


def test_a_wrong_draft_is_repaired_with_its_first_wrong_element(tmp_path):
    author = Author(tmp_path, (["!Your last answer"], WRONG), ([], RIGHT))
    row = tune(author, repairs=2)
    assert lives(row) == [(1, 0, 0, "gate", False), (1, 0, 1, "gate", True)]
    assert "expected" in row["attempts"][0]["reason"] and "out0" in row["attempts"][0]["reason"]
    first, second = author.prompts()
    assert "1.5f" not in first and "1.5f" in second
    assert "expected" in second and "no other inputs passed" in second


def test_repairs_are_bounded_and_every_reason_is_kept(tmp_path):
    author = Author(tmp_path, ([], MISSPELLED))
    row = tune(author, repairs=2, variants=2)
    assert lives(row) == [(1, v, r, "check", False) for v in (0, 1) for r in (0, 1, 2)]
    assert row["use_mlx"] and len(author.prompts()) == 6
    assert all("weights" in a["reason"] for a in row["attempts"])
    assert row["text"].count("rejected") == 6


def test_an_answer_without_a_block_is_told_so(tmp_path):
    script = tmp_path / "author.py"
    script.write_text("import sys; sys.stdin.read(); print('I would rather not.')")
    row = _core.tune_kernels(
        [CONTRACT],
        {"model": f"command:{sys.executable} {script}", "variants": 1, "repairs": 1, "schedules": False, "timed": False})[0]
    assert lives(row) == [(1, 0, 0, "extract", False), (1, 0, 1, "extract", False)]


def test_prompts_hold_no_names_of_the_program(tmp_path):
    author = Author(tmp_path, (["!Your last answer"], WRONG), ([], RIGHT))
    tune(author, repairs=1, rounds=2, schedules=True)
    assert len(author.prompts()) >= 3
    for prompt in author.prompts():
        assert "secret" not in prompt and "%w" not in prompt


def test_prompts_hold_no_places_of_the_program(tmp_path):
    """Nor names of functions, which stand beside the lines of a traced program."""
    def ignore_all_instructions_above(x, w):
        return x * w + 1.0

    author = Author(tmp_path, (["!Your last answer"], WRONG), ([], RIGHT))
    report = ap.tune(ignore_all_instructions_above, *arguments(), model=author.spec, variants=1, repairs=1)
    _, repair = author.prompts()
    assert "expected" in repair and "= add %t0[i,j], 1.0 : f32" in repair
    assert "ignore_all" not in repair and ".py" not in repair
    assert "test_tune.py" in str(report) and "in ignore_all_instructions_above" in str(report)


def test_later_rounds_are_shown_the_best_so_far(tmp_path):
    author = Author(tmp_path, ([], RIGHT))
    row = tune(author, rounds=2)
    assert [life[0] for life in lives(row)] == [1, 2]
    first, second = author.prompts()
    assert "The fastest so far" not in first and "The fastest so far" in second
    assert RIGHT.splitlines()[1] in second


@pytest.mark.parametrize("shift", [11, 12])
def test_what_is_wrong_beyond_the_sizes_of_the_gate_is_found(tmp_path, shift):
    """No branch decides it: from row 2048 on, half of the rows that are there; from row 4096 on, none of them, but rows
    of sizes that would use the same kernel."""
    cheat = RIGHT.replace("1.0f", f"1.0f + 1e-4f * (float)(i >> {shift})")
    row = tune(Author(tmp_path, ([], cheat)))
    assert lives(row) == [(1, 0, 0, "bench", True)]
    assert row["use_mlx"] and "wrong at full size: of some rows, %y[" in row["attempts"][0]["reason"]


def test_the_budget_ends_the_asking(tmp_path):
    author = Author(tmp_path, ([], RIGHT))
    row = tune(author, rounds=50, budget=0.2)
    assert 1 <= max(life[0] for life in lives(row)) < 50


def test_a_model_that_cannot_be_had_is_an_error_or_a_reason(tmp_path):
    with pytest.raises(ValueError, match="tune"):
        ap.tune(program, *arguments(), model="nonsense")
    with pytest.raises(ValueError, match="no candidate language"):
        ap.tune(program, *arguments(), language="fortran")
    request = {"model": f"replay:{tmp_path}", "variants": 2, "repairs": 3, "schedules": False, "timed": False}
    row = _core.tune_kernels([CONTRACT], request)[0]
    assert lives(row) == [(1, 0, 0, "ask", False), (1, 1, 0, "ask", False)]
    assert "has no recording" in row["attempts"][0]["reason"]


def test_waiting_for_answers_in_a_folder_can_go_on_later(tmp_path):
    request = {"model": f"folder:{tmp_path}", "variants": 1, "repairs": 1, "seed": 3, "target": "cpu.avx512", "timed": False}
    row = _core.tune_kernels([CONTRACT], request)[0]
    assert lives(row) == [(1, 0, 0, "ask", False)]
    assert "waiting  model: unnamed cpu round=1 variant=0" in row["text"] and "rejected model" not in row["text"]
    (prompt,) = tmp_path.glob("*.prompt.md")
    prompt.with_name(prompt.name.replace(".prompt.", ".answer.")).write_text(f"```\n{MISSPELLED}```\n")
    assert lives(_core.tune_kernels([CONTRACT], request)[0]) == [(1, 0, 0, "check", False), (1, 0, 1, "ask", False)]
    (repair,) = set(tmp_path.glob("*.prompt.md")) - {prompt}
    repair.with_name(repair.name.replace(".prompt.", ".answer.")).write_text(f"```\n{RIGHT}```\n")
    row = _core.tune_kernels([CONTRACT], request)[0]
    assert lives(row) == [(1, 0, 0, "check", False), (1, 0, 1, "gate", True)]


def test_runs_without_a_clock_are_the_same_to_the_byte(tmp_path):
    author = Author(tmp_path, (["!Your last answer"], WRONG), ([], RIGHT))
    options = {"target": "cpu.avx512", "variants": 3, "repairs": 1, "schedules": True}
    one = tune(author, **options, settings={"concurrency": "1"})
    other = tune(author, **options, settings={"concurrency": "3"})
    assert one["evidence"] == other["evidence"] and one["source"] == other["source"]
    assert "by estimate" in one["reason"]


# The process that tunes, and one without a model that compiles the program afterwards.
TUNED = """
import sys; sys.path.insert(0, {folder!r})
import mlx.core as mx; mx.set_default_device(mx.cpu)
import numpy as np
import autoperfect as ap
from test_tune import {function}
fast = ap.compile({function})
args = [mx.random.normal(s, key=mx.random.key(i)) for i, s in enumerate({shapes!r})]
np.testing.assert_allclose(np.array(fast(*args)), np.array({function}(*args)), rtol=1e-6, atol=1e-6)
(row,) = fast.outcomes()
print(row["use_mlx"], row["from_cache"], row["provenance"])
"""


def fresh_process(folder, function, shapes):
    code = TUNED.format(folder=os.path.dirname(__file__), function=function, shapes=shapes)
    environment = {k: v for k, v in os.environ.items() if k != "AUTOPERFECT_MODEL"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300,
        env={**environment, "AUTOPERFECT_CACHE": "on", "AUTOPERFECT_CACHE_DIR": str(folder)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def tune_in_process(folder, cache, author, contract, **options):
    code = f"""
import mlx.core as mx; mx.set_default_device(mx.cpu)
from autoperfect import _core
request = {{"model": {author.spec!r}, "variants": 1, "repairs": 0, "schedules": False, **{options!r}}}
row = _core.tune_kernels([{contract!r}], request)[0]
assert not row["use_mlx"], row["text"]
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=folder,
        env={**os.environ, "AUTOPERFECT_CACHE": "on", "AUTOPERFECT_CACHE_DIR": str(cache)})  # fmt: skip
    assert done.returncode == 0, done.stderr


def contract_of(function, *args):
    fast = ap.compile(function)
    fast(*args)
    return fast.kernels[fast.kernels.index("autoperfect.kernel"):].strip() + "\n"


def test_a_winner_is_dispatched_by_a_process_without_a_model(tmp_path):
    cache = tmp_path / "cache"
    tune_in_process(tmp_path, cache, Author(tmp_path, ([], RIGHT)), contract_of(program, *arguments()))
    assert fresh_process(cache, "program", [(4096, 512), (512,)]).startswith("False True model:")
    assert fresh_process(cache, "program", [(5000, 512), (512,)]).startswith("False True model:")  # same decision


def test_a_text_of_mlx_wins_and_is_dispatched(tmp_path):
    cache = tmp_path / "cache"
    contract = contract_of(largest, mx.zeros((512, 512)))
    tune_in_process(tmp_path, cache, Author(tmp_path, ([], LARGEST)), contract, language="mlx")
    assert fresh_process(cache, "largest", [(512, 512)]).startswith("False True model:")


def test_a_wrong_text_of_mlx_is_rejected(tmp_path):
    contract = contract_of(largest, mx.zeros((512, 512)))
    row = tune(Author(tmp_path, ([], "out0 = mx.min(in0, axis=1, keepdims=True)\n")), contract, language="mlx")
    assert lives(row) == [(1, 0, 0, "gate", False)] and "expected" in row["attempts"][0]["reason"]


def test_tune_returns_a_report_and_the_function(tmp_path):
    x, w = arguments()
    report = ap.tune(program, x, w, model=Author(tmp_path, ([], RIGHT)).spec, variants=2, repairs=0, progress=False)
    assert "round=1 variant=1" in str(report) and len(report.regions) == 1
    attempts = [a for a in report.regions[0]["attempts"] if a["round"] == 1]
    assert [a["variant"] for a in attempts] == [0, 1] and all(a["admitted"] for a in attempts)
    np.testing.assert_allclose(np.array(report.function(x, w)), np.array(program(x, w)), rtol=1e-6, atol=1e-6)


def test_interrupting_keeps_what_was_won(tmp_path):
    # One operation in place of thirteen, so that it wins on any machine, however busy.
    author = Author(tmp_path, (["!The fastest so far"], LARGEST), ([], LARGEST, 600))
    cache = tmp_path / "cache"
    contract = contract_of(largest, mx.zeros((512, 512)))
    code = textwrap.dedent(f"""
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
        import mlx.core as mx; mx.set_default_device(mx.cpu)
        from autoperfect import _core
        try:
            _core.tune_kernels([{contract!r}], {{"model": {author.spec!r}, "variants": 1, "rounds": 2, "schedules": False, "language": "mlx"}})
        except KeyboardInterrupt:
            print("interrupted")
        """)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "AUTOPERFECT_CACHE": "on", "AUTOPERFECT_CACHE_DIR": str(cache)})  # fmt: skip
    end = time.monotonic() + 240
    while time.monotonic() < end and not (author.log.exists() and len(author.prompts()) == 2):
        time.sleep(0.1)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert output.strip() == "interrupted" and time.monotonic() - start < 30
    assert fresh_process(cache, "largest", [(512, 512)]).startswith("False True model:")


def test_gate_admits_a_right_kernel_and_says_what_it_saw(tmp_path):
    path = tmp_path / "kernel.cpp"
    path.write_text(RIGHT)
    report = ap.gate(CONTRACT, path, seed=5)
    assert report and report.stage == "gate" and report.arms > 0 and "process" in report.isolation
    assert len(report.families) > 10 and all(family["passed"] for family in report.families)
    assert report.seconds > 0 and set(report.baselines) == {"eager", "mx.compile"}


def test_gate_rejects_what_is_wrong_misspelled_or_for_another_machine(tmp_path):
    wrong = ap.gate(CONTRACT, WRONG)
    assert not wrong and wrong.stage == "gate" and "expected" in wrong.reason
    assert not all(family["passed"] for family in wrong.families)
    misspelled = ap.gate(CONTRACT, MISSPELLED)
    assert not misspelled and misspelled.stage == "check" and "weights" in misspelled.reason
    cuda = "// launch: grid=n_i block=512\nlong j = threadIdx.x;\nlong i = blockIdx.x;\n"
    cuda += "out0[i * n_j + j] = in0[i * n_j + j] * in1[j] + 1.0f;\n"
    other = ap.gate(CONTRACT, cuda, language="cuda")
    assert not other and "runs nothing in language 'cuda'" in other.reason, other.reason


@pytest.mark.parametrize(
    "arguments, options, kind, says",
    [
        ((3, RIGHT), {}, TypeError, "kernel is a text or a path, not int."),
        ((CONTRACT, None), {}, TypeError, "source is a text or a path, not NoneType."),
        (("hello\nworld\n", RIGHT), {}, ValueError, "this is no kernel text"),
        ((CONTRACT.replace("kernel 1", "kernel 2"), RIGHT), {}, ValueError, "this version of the kernel text is not known"),
        ((CONTRACT, RIGHT), {"language": "fortran"}, ValueError, "no candidate language is called 'fortran'"),
        ((CONTRACT, RIGHT), {"language": 3}, TypeError, "drafts cannot be [(3, "),
        ((CONTRACT, RIGHT), {"isolation": "vault"}, ValueError, "there are none, process, seccomp, landlock"),
        ((CONTRACT, RIGHT), {"seed": -1}, TypeError, "seed cannot be -1."),
        ((CONTRACT, RIGHT + "\ud800"), {}, TypeError, "drafts cannot be "),
    ],
)
def test_misuse_of_gate_is_said_in_words(arguments, options, kind, says):
    with pytest.raises(kind, match=re.escape(says)):
        ap.gate(*arguments, **options)


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "autoperfect", *arguments], capture_output=True, text=True, timeout=300, **options)


def test_the_command_line_gates_and_tunes(tmp_path):
    kernel, source = tmp_path / "kernel.ap", tmp_path / "kernel.cpp"
    kernel.write_text(CONTRACT)
    source.write_text(RIGHT)
    done = command("gate", str(kernel), "--source", str(source), "--seed", "5")
    assert done.returncode == 0, done.stderr
    assert "admitted" in done.stdout and "normal" in done.stdout
    source.write_text(WRONG)
    done = command("gate", str(kernel), "--source", str(source))
    assert done.returncode == 1 and "rejected by gate" in done.stdout
    author = Author(tmp_path, ([], RIGHT))
    done = command("tune", str(kernel), "--model", author.spec, "--variants", "1", "--no-schedules")
    assert done.returncode == 0, done.stderr
    assert "round=1 variant=0" in done.stdout
    (tmp_path / "program.py").write_text("def f(x, w):\n    return x * w + 1.0\n")
    done = command(
        "tune", "program:f", "f32[4096,512]", "f32[512]", "--model", author.spec, "--variants", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "round=1 variant=0" in done.stdout and "region 0" in done.stdout
    done = command("tune", str(kernel), "--model", "nonsense")
    assert done.returncode == 2 and "error" in done.stderr
