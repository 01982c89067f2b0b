"""A server of language models that misbehaves on demand: the first part of the path says how."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = "Here it is:\n```\nout0 = mx.exp(in0)\n```\n"


def chat(text, finish="stop"):
    return {
        "model": "test-model", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20}}


def chat_events(text, finish="stop"):
    pieces = [{"model": "test-model", "choices": [{"delta": {"content": c}, "finish_reason": None}]} for c in text]
    return [*pieces, {"choices": [{"delta": {}, "finish_reason": finish}]},
            {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 20}}]


def message(text):
    return {"type": "message", "model": "test-model", "stop_reason": "end_turn",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}],
            "usage": {"input_tokens": 100, "output_tokens": 20}}


def message_events(text):
    return [{"type": "message_start", "message": {"model": "test-model", "usage": {"input_tokens": 100}}},
            {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
            *({"type": "content_block_delta", "delta": {"type": "text_delta", "text": c}} for c in text),
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}},
            {"type": "message_stop"}]


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        what, _, rest = self.path[1:].partition("/")
        self.api = rest
        with self.server.lock:
            self.server.requests.append({
                "what": what, "path": "/" + rest, "headers": dict(self.headers), "body": self.body, "time": time.monotonic()})
            self.nth = sum(r["what"] == what for r in self.server.requests)
        try:
            getattr(self, "do_" + what, self.do_status)(*([what] if not hasattr(self, "do_" + what) else []))
        except OSError:
            pass  # the client gave up, as it should

    def start(self, status=200, kind="application/json", length=None, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def answer(self, body, status=200, kind="application/json", **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.start(status, kind, len(data), **headers)
        self.wfile.write(data)

    def events(self, events, last=b"data: [DONE]\n\n"):
        self.start(kind="text/event-stream; charset=utf-8")
        self.wfile.write(b": a comment\n\n")
        for event in events:
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.wfile.write(last)

    def endless(self, data):
        while not self.server.closing:
            self.wfile.write(data)

    def do_good(self):
        messages = self.api.endswith("messages")
        if self.body["stream"]:
            self.events((message_events if messages else chat_events)(ANSWER), b"" if messages else b"data: [DONE]\n\n")
        else:
            self.answer((message if messages else chat)(ANSWER))

    def do_status(self, status):
        """`429` fails always, `429_then_good` once; `429_after_2` asks to wait for 2 seconds, once."""
        number, _, then = status.partition("_")
        if then and self.nth > 1:
            return self.do_good()
        headers = {"Retry_After": then[6:]} if then.startswith("after_") else {}
        self.answer({"error": {"message": f"this is a {number}"}}, int(number), **headers)

    def do_always_after_9999(self):
        self.answer({"error": "later"}, 429, Retry_After="9999")

    def do_not_utf8(self):
        self.answer(json.dumps(chat("X")).encode().replace(b"X", b"\xff\xfe"))

    def do_not_utf8_events(self):
        self.start(kind="text/event-stream")
        self.wfile.write(b'data: {"choices": [{"delta": {"content": "\xff"}}]}\n\n')

    def do_huge(self):
        self.start(length=200 << 20)
        block = b" " * (1 << 16)
        for _ in range(200 << 4):
            self.wfile.write(block)

    def do_endless_events(self):
        self.start(kind="text/event-stream")
        self.endless(b"data: " + json.dumps(chat_events("x" * 500)[0]).encode() + b"\n\n")

    def do_endless_line(self):
        self.start(kind="text/event-stream")
        self.endless(b"data: " + b"x" * 4096)

    def do_drip(self):
        self.start(kind="text/event-stream")
        while not self.server.closing:
            self.wfile.write(b": still thinking\n\n")
            time.sleep(0.1)

    def do_stays_open(self):
        self.events(chat_events(ANSWER))
        self.server.closed.wait(30)

    def do_silent(self):
        self.server.closed.wait(30)

    def do_deep(self):
        self.answer(b'{"choices":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}")

    def do_deep_events(self):
        self.start(kind="text/event-stream")
        self.wfile.write(b"data: " + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"\n\n")

    def do_html(self):
        self.answer(b"<html><body>Welcome to your router</body></html>", kind="text/html")

    def do_html_502(self):
        self.answer(b"<html>Bad gateway</html>", 502, "text/html") if self.nth == 1 else self.do_good()

    def do_cut(self):
        self.start(length=1000)
        self.wfile.write(json.dumps(chat(ANSWER)).encode()[:50])

    def do_cut_events(self):
        self.events(chat_events(ANSWER)[:10], b"")

    def do_cut_events_then_good(self):
        self.do_cut_events() if self.nth == 1 else self.do_good()

    def do_length(self):
        self.answer(chat(None, "length"))

    def do_length_events(self):
        self.events(chat_events("", "length"))

    def do_nonsense(self):
        self.answer([1, {"choices": {"0": 3}}])

    def do_wrong_types(self):
        self.answer({"choices": [{"message": {"content": {"text": 1}}, "finish_reason": 3}], "usage": "none", "model": []})

    def do_error_event(self):
        self.events([*chat_events("abc")[:2], {"error": {"message": "overloaded", "type": "overloaded_error"}}], b"")

    def do_redirect(self):
        self.answer(b"", 307, Location=f"http://127.0.0.1:{self.server.server_port}/good/v1/chat/completions")

    def do_echo_error(self):
        self.answer({"error": {"message": f"bad key {self.headers['Authorization']}"}}, 401)

    def do_echo_html(self):
        self.answer(f"<html>{self.headers['Authorization']}</html>".encode())

    def do_echo_answer(self):
        self.answer({**chat(f"your key is {self.headers['Authorization']}"), "model": self.headers["Authorization"]})

    def do_echo_location(self):
        self.answer(b"", 302, Location="http://elsewhere/" + self.headers["Authorization"])

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """Runs while the `with` block does; `requests` is what came."""

    daemon_threads = True

    def __init__(self, tls=None):
        super().__init__(("127.0.0.1", 0), Handler)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.requests, self.lock = [], threading.Lock()
        self.closing, self.closed = False, threading.Event()

    def url(self, what):
        return f"http://127.0.0.1:{self.server_port}/{what}/v1"

    def of(self, what):
        return [request for request in self.requests if request["what"] == what]

    def handle_error(self, *_):
        pass  # a client that breaks off is what some tests are about

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.closing = True
        self.closed.set()
        self.shutdown()
        self.server_close()
