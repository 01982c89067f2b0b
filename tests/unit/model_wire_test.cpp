// The two forms of answers, read in whatever pieces they come.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <thread>

#include "generate/model/json.h"
#include "generate/model/wire.h"
#include "support/descriptor.h"

namespace autoperfect {
namespace {

constexpr const char* chat_stream =
    ": hello\r\n\r\n"
    "data: {\"model\": \"m\", \"choices\": [{\"delta\": {\"role\": \"assistant\", \"content\": "
    "\"\"}}]}\r\n\r\n"
    "event: x\ndata: {\"choices\": [{\"delta\": {\"content\": \"a\\nb\"}}]}\n\n"
    "data:{\"choices\": [{\"delta\": {\"content\": \"\\u00fc\", \"reasoning\": \"no\"}, \"finish_reason\": "
    "\"stop\"}]}\n\n"
    "data: {\"choices\": [], \"usage\": {\"prompt_tokens\": 5, \"completion_tokens\": 7}}\n\n"
    "data: [DONE]\n\ndata: {\"choices\": [{\"delta\": {\"content\": \"late\"}}]}\n\n";

constexpr const char* message_stream =
    "event: message_start\ndata: {\"type\": \"message_start\", \"message\": {\"model\": \"m\", \"usage\": "
    "{\"input_tokens\": 5, \"output_tokens\": 1}}}\n\n"
    "data: {\"type\": \"ping\"}\n\n"
    "data: {\"type\": \"content_block_delta\", \"delta\": {\"type\": \"thinking_delta\", \"thinking\": "
    "\"no\"}}\n\n"
    "data: {\"type\": \"content_block_delta\", \"delta\": {\"type\": \"text_delta\", \"text\": \"a\\n\"}}\n\n"
    "data: {\"type\": \"content_block_delta\",\ndata: \"delta\": {\"type\": \"text_delta\", \"text\": "
    "\"b\"}}\n\n"
    "data: {\"type\": \"message_delta\", \"delta\": {\"stop_reason\": \"max_tokens\"}, \"usage\": "
    "{\"output_tokens\": 7}}\n\n"
    "data: {\"type\": \"message_stop\"}\n\n";

Result<Reply> read(WireForm form, bool events, std::string_view bytes, size_t piece = 1 << 20) {
  AnswerReader reader(form, events);
  for (size_t at = 0; at < bytes.size(); at += piece)
    if (!reader.feed(bytes.substr(at, piece))) break;
  return reader.finish();
}

TEST(ModelWire, StreamsInPiecesOfAnySize) {
  for (size_t piece = 1; piece < 400; piece += piece < 20 ? 1 : 37) {
    auto chat = read(WireForm::chat_completions, true, chat_stream, piece);
    ASSERT_TRUE(chat.ok()) << piece;
    EXPECT_EQ(chat->text, "a\nb\xc3\xbc");
    EXPECT_EQ(chat->finish_reason, "stop");
    EXPECT_EQ(chat->model, "m");
    EXPECT_EQ(chat->prompt_tokens, 5);
    EXPECT_EQ(chat->completion_tokens, 7);
    auto message = read(WireForm::messages, true, message_stream, piece);
    ASSERT_TRUE(message.ok()) << piece;
    EXPECT_EQ(message->text, "a\nb");
    EXPECT_EQ(message->finish_reason, "length");
    EXPECT_EQ(message->prompt_tokens, 5);
    EXPECT_EQ(message->completion_tokens, 7);
  }
}

TEST(ModelWire, AStreamCutAnywhereIsAnErrorOrWhole) {
  const std::string_view stream = message_stream;
  auto end = stream.find("data: {\"type\": \"message_delta\"");
  for (size_t cut = 0; cut < end; ++cut) {
    AnswerReader reader(WireForm::messages, true);
    reader.feed(stream.substr(0, cut));
    auto reply = reader.finish();
    ASSERT_FALSE(reply.ok()) << cut;
    EXPECT_EQ(reply.errors().front().code, "cut-stream");
    EXPECT_TRUE(reader.worth_another());
  }
}

TEST(ModelWire, ErrorsInPlaceOfAnswers) {
  for (const char* text :
       {"{\"error\": {\"message\": \"no such model\"}}", "{\"error\": \"no such model\", \"choices\": []}"}) {
    auto reply = read(WireForm::chat_completions, false, text);
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.errors().front().code, "server-error");
    EXPECT_EQ(reply.errors().front().message, "no such model");
  }
  EXPECT_TRUE(read(
      WireForm::chat_completions,
      false,
      "{\"error\": null, \"choices\": [{\"message\": {\"content\": \"x\"}}]}"));
}

TEST(ModelWire, Addresses) {
  EXPECT_EQ(url_of(WireForm::chat_completions, "http://h/v1/"), "http://h/v1/chat/completions");
  EXPECT_EQ(url_of(WireForm::messages, "https://h"), "https://h/v1/messages");
  EXPECT_EQ(url_of(WireForm::messages, "https://h/v1"), "https://h/v1/messages");
}

TEST(ModelWire, ABodySaysWhatWasAskedForAndNothingElse) {
  ModelOptions options;
  options.stream = false;
  options.key_file = "/secret";
  auto body = *parse_json(body_of(WireForm::chat_completions, options, "p", 2));
  EXPECT_EQ(body.size(), 4u) << body;
  EXPECT_EQ(body["seed"], 2);
  EXPECT_EQ(body["stream"], false);
  EXPECT_EQ(body["max_tokens"], 16384);
  EXPECT_EQ(body["messages"][0]["content"], "p");
}

// Accepts connections and never answers.
class SilentServer {
 public:
  SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_.get(), any, size) != 0 || ::listen(socket_.get(), 4) != 0 ||
        ::getsockname(socket_.get(), any, &size) != 0)
      throw std::runtime_error("no socket");
    port_ = ntohs(address.sin_port);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }

 private:
  Descriptor socket_;
  int port_ = 0;
};

TEST(ModelWire, WaitingEndsWhenItIsCancelled) {
  SilentServer server;
  for (const auto& spec : {server.url(), std::string("command:/bin/sleep 60")}) {
    std::atomic<bool> cancelled = false;
    ModelOptions options;
    options.spec = spec;
    options.cancelled = &cancelled;
    auto model = open_model(options);
    if (!model && model.errors().front().code == "no-curl") GTEST_SKIP() << "no libcurl on this machine";
    ASSERT_TRUE(model.ok()) << format(model.errors());
    std::thread stop([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      cancelled = true;
    });
    auto start = std::chrono::steady_clock::now();
    auto reply = (*model)->ask("p", 0);
    stop.join();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.errors().front().code, "cancelled");
    EXPECT_EQ((*model)->ask("p", 0).errors().front().code, "cancelled");
  }
}

}  // namespace
}  // namespace autoperfect
