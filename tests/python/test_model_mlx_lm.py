"""A real server: mlx_lm.server with a tiny random model, made here. Its answers mean nothing; that they arrive, streamed and
whole, with their counts of tokens, is what counts."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import mlx.core as mx
import pytest

pytest.importorskip("mlx_lm", reason="mlx-lm is not installed (pip install mlx-lm)")

STARTUP_SECONDS = 120
TEMPLATE = "{% for message in messages %}<u>{{ message['content'] }}{% endfor %}<a>"


def write_tokenizer(folder):
    """One token a byte, and three of our own."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in ("<e>", "<u>", "<a>")])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<e>", "chat_template": TEMPLATE}))
    return tokenizer.get_vocab_size()


def write_model(folder):
    from mlx.utils import tree_flatten
    from mlx_lm.models import llama

    config = {
        "model_type": "llama", "hidden_size": 16, "num_hidden_layers": 1, "intermediate_size": 32, "num_attention_heads": 2,
        "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "vocab_size": write_tokenizer(folder), "tie_word_embeddings": True,
        "max_position_embeddings": 4096, "rope_theta": 10000.0}
    (folder / "config.json").write_text(json.dumps({**config, "eos_token_id": 256}))
    mx.random.seed(1)
    weights = dict(tree_flatten(llama.Model(llama.ModelArgs.from_dict(config)).parameters()))
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_healthy(process, port):
    end = time.monotonic() + STARTUP_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    return False


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    write_model(folder)
    port = free_port()
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlx_lm", "server", "--model", str(folder), "--host", "127.0.0.1", "--port", str(port)],
            stdout=output, stderr=subprocess.STDOUT, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    try:
        assert wait_until_healthy(process, port), log.read_text()
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(30)


def ask(url, prompt, *settings):
    words = [word for setting in settings for word in ("--set", setting)]
    return subprocess.run(
        [sys.executable, "-m", "autoperfect", "ask", "--model", url, *words], input=prompt.encode(), capture_output=True, timeout=120)


@pytest.mark.parametrize("stream", ["true", "false"])
def test_an_answer_arrives_whole(server, stream, tmp_path):
    done = ask(server, "Write a kernel.", f"stream={stream}", "max_tokens=40", f"record={tmp_path}/recorded", "seed=3")
    assert done.returncode == 0, done.stderr.decode()
    (path,) = (tmp_path / "recorded").iterdir()
    recording = json.loads(path.read_text())
    assert recording["reply"].encode() == done.stdout and recording["reply"]
    assert recording["prompt_tokens"] == len("Write a kernel.") + 2  # bytes, and two of the template
    assert recording["completion_tokens"] == 40 and recording["finish_reason"] == "length"


def test_streamed_or_not_the_answer_is_the_same(server):
    settings = ["max_tokens=30", "temperature=0"]
    streamed = ask(server, "a prompt", *settings, "stream=true")
    whole = ask(server, "a prompt", *settings, "stream=false")
    assert streamed.returncode == whole.returncode == 0
    assert streamed.stdout == whole.stdout


def test_sampling_follows_the_seed(server):
    settings = ["max_tokens=30", "temperature=1.5"]
    first, again, other = (ask(server, "a prompt", *settings, f"seed={seed}").stdout for seed in (1, 1, 2))
    assert first == again != other


def test_a_model_the_server_does_not_have(server):
    done = ask(server, "a prompt", "name=/no/such/model", "retries=0")
    assert done.returncode == 1
    assert b"model: error[http-status]: the server answered 404" in done.stderr
