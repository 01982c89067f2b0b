"""The whole loop on recorded answers of a language model: what is stated, that two runs agree, that repairs are played."""

import json
import pathlib
import sys

import pytest

from autoperfect import _core

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
import recorded  # noqa: E402

ANSWERS = sorted(recorded.ANSWERS.glob("*.json")) if recorded.ANSWERS.is_dir() else []
pytestmark = pytest.mark.skipif(not ANSWERS, reason="no answers are recorded (scripts/record_answers.py)")


def play(language, names, **options):
    request = recorded.request(language, timed=False, schedules=False, progress=False, **options)
    return _core.tune_kernels([recorded.kernel(name) for name in names], request)


def asked(row):
    """(variant, repair) of what was answered."""
    return [(a["variant"], a["repair"]) for a in row["attempts"] if a["stage"] != "ask"]


@pytest.fixture(scope="module")
def played():
    return {language: play(language, names) for language, names in recorded.LANGUAGES.items()}


def test_each_recording_states_its_model_and_holds_prompt_and_answer():
    assert recorded.models() and all(recorded.models())
    for path in ANSWERS:
        recording = json.loads(path.read_text())
        assert recording["prompt"].startswith("# Write one kernel"), path
        assert "secret" not in recording["prompt"]


def test_twelve_regions_and_more_have_three_answers_each(played):
    answered = [row for rows in played.values() for row in rows if {v for v, r in asked(row) if r == 0} == {0, 1, 2}]
    assert len(answered) >= 12


def test_most_regions_have_a_draft_that_is_admitted(played):
    rows = [row for rows in played.values() for row in rows]
    admitted = [row for row in rows if any(a["admitted"] for a in row["attempts"])]
    assert len(admitted) > len(rows) / 2, [row["text"] for row in rows if row not in admitted]


def test_what_fails_is_kept_with_its_reason(played):
    for rows in played.values():
        for attempt in (a for row in rows for a in row["attempts"] if not a["admitted"]):
            assert attempt["reason"] and attempt["stage"] in ("ask", "extract", "check", "compile", "gate"), attempt


def test_two_runs_choose_the_same_winners_with_the_same_evidence(played):
    for language, names in recorded.LANGUAGES.items():
        again = play(language, names, settings={"concurrency": "1"})
        for first, second in zip(played[language], again, strict=True):
            assert first["source"] == second["source"] and first["evidence"] == second["evidence"]
