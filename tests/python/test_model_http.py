"""Models behind a server: both forms, and each way in which a server can fail. The answer or a clear message comes in time,
what can pass is tried again and nothing else is, and a key is seen by nobody but the server it is for."""

import os
import shutil
import ssl
import subprocess
import sys
import time

import pytest

from tests.python.model_server import ANSWER, Server

KEY = "sk-test-4f1c9d7e2b"
PROMPT = "Write a kernel.\nWith ünïcode and \"quotes\".\n"


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


def ask(url, key=KEY, prompt=PROMPT, **settings):
    """(status, answer, messages, seconds)"""
    environment = {k: v for k, v in os.environ.items() if k != "AUTOPERFECT_MODEL_KEY"}
    if key:
        environment["AUTOPERFECT_MODEL_KEY"] = key
    options = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "autoperfect", "ask", "--model", url, *options], input=prompt.encode(), capture_output=True,
        timeout=60, env=environment)
    assert KEY.encode() not in done.stdout + done.stderr
    return done.returncode, done.stdout.decode(), done.stderr.decode(), time.monotonic() - start


def fails(server, what, code, requests=1, **settings):
    """Asks what must fail with `code`, having been asked so often."""
    before = len(server.of(what))
    status, answer, message, seconds = ask(server.url(what), **{"retries": 2, "seconds": 20, **settings})
    assert status == 1 and answer == ""
    assert f"model: error[{code}]" in message, message
    assert len(server.of(what)) - before == requests
    assert len(message) < 2000
    return message, seconds


# --- what is sent, and what comes back --------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", ["true", "false"])
def test_chat_completions(server, stream):
    status, answer, message, _ = ask(
        server.url("good"), stream=stream, name="some-model", temperature=0.25, seed=7, max_tokens=321)
    assert (status, answer, message) == (0, ANSWER, "")
    sent = server.of("good")[-1]
    assert sent["path"] == "/v1/chat/completions"
    assert sent["headers"]["Authorization"] == f"Bearer {KEY}"
    body = sent["body"]
    assert body["messages"] == [{"role": "user", "content": PROMPT}]
    assert (body["model"], body["temperature"], body["seed"], body["max_tokens"]) == ("some-model", 0.25, 7, 321)
    assert body["stream"] == (stream == "true")


@pytest.mark.parametrize("stream", ["true", "false"])
def test_messages(server, stream):
    status, answer, message, _ = ask("anthropic:" + server.url("good"), stream=stream, name="some-model")
    assert (status, answer, message) == (0, ANSWER, "")
    sent = server.of("good")[-1]
    assert sent["path"] == "/v1/messages"
    assert sent["headers"]["x-api-key"] == KEY and "Authorization" not in sent["headers"]
    assert sent["headers"]["anthropic-version"] == "2023-06-01"
    assert sent["body"]["max_tokens"] == 16384 and "temperature" not in sent["body"]


def test_messages_need_a_name(server):
    status, _, message, _ = ask("anthropic:" + server.url("good"))
    assert status == 1 and "error[no-name]" in message


def test_without_a_key_none_is_sent(server):
    assert ask(server.url("good"), key="")[0] == 0
    assert "Authorization" not in server.of("good")[-1]["headers"]


def test_other_field_for_the_limit_of_tokens(server):
    assert ask(server.url("good"), tokens_field="max_completion_tokens")[0] == 0
    assert "max_tokens" not in server.of("good")[-1]["body"]
    assert server.of("good")[-1]["body"]["max_completion_tokens"] == 16384


def test_an_answer_ends_when_the_server_says_so_not_when_it_hangs_up(server):
    status, answer, _, seconds = ask(server.url("stays_open"))
    assert (status, answer) == (0, ANSWER) and seconds < 10


# --- answers that are none --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what, code, says", [
    ("not_utf8", "not-utf8", "not UTF-8"),
    ("not_utf8_events", "bad-answer", "not UTF-8"),
    ("deep", "not-json", "nested too deep"),
    ("deep_events", "bad-answer", "not JSON"),
    ("html", "not-json", "Welcome to your router"),
    ("nonsense", "not-json", "not JSON"),
    ("wrong_types", "no-content", "no text"),
    ("length", "no-content", "all its tokens"),
    ("length_events", "no-content", "all its tokens"),
])
def test_useless_answers_are_not_asked_for_again(server, what, code, says):
    message, _ = fails(server, what, code)
    assert says in message


@pytest.mark.parametrize("what", ["huge", "endless_events", "endless_line"])
def test_endless_answers_are_cut(server, what):
    _, seconds = fails(server, what, "too-long", max_bytes=1 << 20)
    assert seconds < 10


# --- time -------------------------------------------------------------------------------------------------------------


def test_silent_server(server):
    message, seconds = fails(server, "silent", "idle", requests=2, retries=1, idle_seconds=1)
    assert "not a byte in 1 s (asked 2 times)" in message and seconds < 15


def test_total_deadline(server):
    _, seconds = fails(server, "drip", "timeout", seconds=1.5)
    assert 1.5 <= seconds < 8


def test_nobody_listens():
    status, _, message, _ = ask("http://127.0.0.1:9/v1", retries=1)
    assert status == 1 and "error[unreachable]" in message and "(asked 2 times)" in message


# --- what is tried again, and what is not -----------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_refusals_are_final(server, status):
    message, _ = fails(server, str(status), "http-status")
    assert f"the server answered {status}: this is a {status}" in message


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_what_may_pass_is_tried_again(server, status):
    assert ask(server.url(f"{status}_then_good"))[:2] == (0, ANSWER)
    assert len(server.of(f"{status}_then_good")) == 2


def test_retries_are_limited_and_wait_longer_each_time(server):
    fails(server, "500", "http-status", requests=4, retries=3)
    times = [request["time"] for request in server.of("500")[-4:]]
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    assert 0.1 < gaps[0] < 0.6 and gaps[2] > gaps[0] and sum(gaps) < 4


def test_retry_after_is_honoured(server):
    assert ask(server.url("429_after_1"))[:2] == (0, ANSWER)
    first, second = server.of("429_after_1")
    assert 1 <= second["time"] - first["time"] < 4


def test_retry_after_has_a_limit(server):
    _, seconds = fails(server, "always_after_9999", "http-status")
    assert seconds < 5


@pytest.mark.parametrize("what", ["cut_events_then_good", "html_502"])
def test_a_broken_answer_is_asked_for_again(server, what):
    assert ask(server.url(what))[:2] == (0, ANSWER)
    assert len(server.of(what)) == 2


@pytest.mark.parametrize("what, code", [("cut", "cut-stream"), ("cut_events", "cut-stream"), ("error_event", "server-error")])
def test_answers_that_stay_broken(server, what, code):
    message, _ = fails(server, what, code, requests=2, retries=1)
    assert what != "error_event" or "overloaded" in message


# --- keys -------------------------------------------------------------------------------------------------------------


def test_redirects_are_not_followed(server):
    before = len(server.requests)
    message, _ = fails(server, "redirect", "redirected")
    assert len(server.requests) == before + 1 and "not followed" in message


@pytest.mark.parametrize("what, code", [
    ("echo_error", "http-status"), ("echo_html", "not-json"), ("echo_location", "redirected")])
def test_a_key_that_comes_back_is_not_shown(server, what, code):
    assert "[key]" in fails(server, what, code)[0]


def test_a_key_that_comes_back_is_neither_in_the_answer_nor_in_its_recording(server, tmp_path):
    status, answer, _, _ = ask(server.url("echo_answer"), record=tmp_path / "recorded")
    assert (status, answer) == (0, "your key is Bearer [key]")
    (recording,) = (tmp_path / "recorded").iterdir()
    assert KEY not in recording.read_text() and "[key]" in recording.read_text()


def test_a_key_does_not_cross_the_network_in_clear():
    status, _, message, _ = ask("http://model.example/v1")
    assert status == 1 and "error[key-in-clear]" in message


@pytest.mark.parametrize("url", ["http://me:secret@localhost/v1", "http://localhost/v1?key=secret", "http:///v1", "http://a b/"])
def test_addresses_with_more_than_an_address(url):
    status, _, message, _ = ask(url)
    assert status == 1 and "error[bad-model]" in message and "secret" not in message


def test_a_server_without_a_trusted_certificate_gets_nothing(tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("no openssl command makes a certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", tmp_path / "key", "-out", tmp_path / "cert",
         "-days", "1", "-subj", "/CN=localhost"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    with Server(context) as running:
        status, _, message, _ = ask(running.url("good").replace("http:", "https:"))
        assert status == 1 and "error[untrusted]" in message and "times)" not in message
        assert not running.requests


def key_file(path, mode=0o600, text=KEY + "\n"):
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_key_from_a_private_file(server, tmp_path):
    assert ask(server.url("good"), key="other", key_file=key_file(tmp_path / "key"))[0] == 0
    assert server.of("good")[-1]["headers"]["Authorization"] == f"Bearer {KEY}"


def test_key_files_that_others_may_use(server, tmp_path):
    open_file, link, hard = key_file(tmp_path / "open", 0o640), tmp_path / "link", tmp_path / "hard"
    link.symlink_to(key_file(tmp_path / "key"))
    hard.hardlink_to(tmp_path / "key")
    lines = key_file(tmp_path / "lines", text="a\r\nX-Injected: yes")
    empty = key_file(tmp_path / "empty", text="")
    before = len(server.requests)
    for path, says in [
            (open_file, "others may use"), (link, "cannot open"), (hard, "link or no plain file"), (tmp_path, "no plain file"),
            (lines, "printable ASCII"), (empty, "is empty"), (tmp_path / "none", "cannot open")]:
        status, _, message, _ = ask(server.url("good"), key="", key_file=path)
        assert status == 1 and "error[bad-key]" in message and says in message
    assert len(server.requests) == before


def test_env_does_not_show_the_key():
    done = subprocess.run(
        [sys.executable, "-m", "autoperfect", "env"], capture_output=True, text=True, timeout=60,
        env={**os.environ, "AUTOPERFECT_MODEL_KEY": KEY})
    assert "AUTOPERFECT_MODEL_KEY" in done.stdout and KEY not in done.stdout + done.stderr


# --- the bill ---------------------------------------------------------------------------------------------------------


def test_a_request_that_could_exceed_the_limit_is_not_sent(server):
    prices = {"prompt_price": 3, "completion_price": 15, "max_tokens": 1000}
    before = len(server.of("good"))
    status, _, message, _ = ask(server.url("good"), **prices, spending_limit=0.01)
    assert status == 1 and "error[spending-limit]" in message and "0.0159" in message
    assert len(server.of("good")) == before
    assert ask(server.url("good"), **prices, spending_limit=0.1)[0] == 0


def test_a_limit_needs_prices(server):
    status, _, message, _ = ask(server.url("good"), spending_limit=1)
    assert status == 1 and "error[no-prices]" in message


# --- recordings -------------------------------------------------------------------------------------------------------


def test_a_recording_answers_like_the_server(server, tmp_path):
    folder = tmp_path / "recorded"
    assert ask(server.url("good"), record=folder, date="2020-02-02")[:2] == (0, ANSWER)
    assert ask(f"replay:{folder}", key="")[:2] == (0, ANSWER)
    status, _, message, _ = ask(f"replay:{folder}", key="", prompt=PROMPT + " ")
    assert status == 1 and "error[not-recorded]" in message
    (recording,) = folder.iterdir()
    assert '"date": "2020-02-02"' in recording.read_text() and '"model": "test-model"' in recording.read_text()
    recording.write_text(recording.read_text().replace("ünïcode", "unicode"))
    status, _, message, _ = ask(f"replay:{folder}", key="")
    assert status == 1 and "error[bad-recording]" in message
