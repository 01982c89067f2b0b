#include "generate/model/wire.h"

#include <fmt/format.h>

#include "generate/model/json.h"

namespace autoperfect {

namespace {

using nlohmann::json;

constexpr size_t shown_bytes = 300;

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && std::string_view(text).substr(text.size() - end.size()) == end;
}

// Both forms have words of their own for the same.
std::string finish_reason(const std::string& reason) {
  if (reason == "end_turn" || reason == "stop_sequence") return "stop";
  if (reason == "max_tokens") return "length";
  return reason;
}

// The object in `list` at `index`, null when there is none.
const json& element(const json& list, size_t index) {
  static const json absent;
  return list.is_array() && index < list.size() ? list[index] : absent;
}

void take_usage(const json& usage, Reply& reply) {
  auto take = [&](const char* name, int64_t& tokens) {
    if (auto count = count_member(usage, name)) tokens = count;
  };
  take("prompt_tokens", reply.prompt_tokens);
  take("completion_tokens", reply.completion_tokens);
  take("input_tokens", reply.prompt_tokens);
  take("output_tokens", reply.completion_tokens);
}

void take_name(const json& object, Reply& reply) {
  auto name = string_member(object, "model");
  if (!name.empty()) reply.model = name.substr(0, 200);
}

void take_reason(const json& object, const char* name, Reply& reply) {
  auto reason = string_member(object, name);
  if (!reason.empty()) reply.finish_reason = finish_reason(reason);
}

bool says_error(const json& answer) {
  const auto& error = member(answer, "error");
  return error.is_object() || error.is_string();
}

}  // namespace

std::string url_of(WireForm form, std::string base) {
  while (!base.empty() && base.back() == '/')
    base.pop_back();
  if (form == WireForm::chat_completions) return base + "/chat/completions";
  return base + (ends_with(base, "/v1") ? "/messages" : "/v1/messages");
}

std::string body_of(WireForm form, const ModelOptions& options, const std::string& prompt, int attempt) {
  json body = {
      {"messages", json::array({{{"role", "user"}, {"content", prompt}}})}, {"stream", options.stream}};
  if (!options.name.empty()) body["model"] = options.name;
  if (options.temperature >= 0) body["temperature"] = options.temperature;
  if (form == WireForm::messages) {
    body["max_tokens"] = options.max_tokens;
  } else {
    body[options.tokens_field] = options.max_tokens;
    body["seed"] = options.seed + attempt;
    if (options.stream) body["stream_options"] = {{"include_usage", true}};
  }
  return body.dump();
}

std::vector<std::string> headers_of(WireForm form, const std::string& key, bool stream) {
  std::vector<std::string> headers = {
      "Content-Type: application/json",
      std::string("Accept: ") + (stream ? "text/event-stream, application/json" : "application/json"),
      "User-Agent: autoperfect",
      "Expect:"};
  if (form == WireForm::messages) headers.push_back("anthropic-version: 2023-06-01");
  if (!key.empty())
    headers.push_back((form == WireForm::messages ? "x-api-key: " : "Authorization: Bearer ") + key);
  return headers;
}

std::string error_text(const std::string& body) {
  if (auto json = parse_json(body)) {
    const auto& error = member(*json, "error");
    auto text = error.is_string() ? error.get<std::string>() : string_member(error, "message");
    if (text.empty()) text = string_member(*json, "message");
    if (text.empty()) text = string_member(*json, "detail");
    if (!text.empty()) return text;
  }
  return is_utf8(body) ? body : "(not UTF-8)";
}

bool AnswerReader::feed(std::string_view bytes) {
  pending_.append(bytes);
  if (!events_) return true;
  size_t begin = 0;
  for (size_t end; !done_ && (end = pending_.find('\n', begin)) != std::string::npos; begin = end + 1)
    take_line(std::string_view(pending_).substr(begin, end - begin));
  pending_.erase(0, begin);
  return !done_;
}

// An event is lines `data: ...` up to an empty one; other fields and comments say nothing of the answer.
void AnswerReader::take_line(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.empty()) {
    if (!data_.empty()) take_event(data_);
    data_.clear();
  } else if (line.substr(0, 5) == "data:") {
    line.remove_prefix(line.substr(0, 6) == "data: " ? 6 : 5);
    if (!data_.empty()) data_ += '\n';
    data_ += line;
  }
}

void AnswerReader::take_event(const std::string& data) {
  any_ = true;
  if (data == "[DONE]") {
    done_ = true;
    return;
  }
  auto json = parse_json(data);
  if (!json || !json->is_object()) {
    errors_.push_back(failed("bad-answer", is_utf8(data) ? "an event is not JSON" : "an event is not UTF-8"));
    done_ = true;
    return;
  }
  if (says_error(*json)) {
    errors_.push_back(
        failed("server-error", "the server broke off: " + error_text(data).substr(0, shown_bytes)));
    done_ = worth_another_ = true;
    return;
  }
  form_ == WireForm::messages ? take_message(*json) : take_chunk(*json);
}

void AnswerReader::take_chunk(const json& chunk) {
  const auto& choice = element(member(chunk, "choices"), 0);
  reply_.text += string_member(member(choice, "delta"), "content");
  take_reason(choice, "finish_reason", reply_);
  take_usage(member(chunk, "usage"), reply_);
  take_name(chunk, reply_);
}

void AnswerReader::take_message(const json& event) {
  auto type = string_member(event, "type");
  const auto& message = member(event, "message");
  const auto& delta = member(event, "delta");
  take_name(message, reply_);
  take_usage(member(message, "usage"), reply_);
  take_usage(member(event, "usage"), reply_);
  if (string_member(delta, "type") == "text_delta") reply_.text += string_member(delta, "text");
  take_reason(delta, "stop_reason", reply_);
  if (type == "message_stop") done_ = true;
}

Diagnostic AnswerReader::failed(std::string code, std::string message, std::string hint) {
  return {"model", std::move(code), std::move(message), {}, std::move(hint)};
}

Result<Reply> AnswerReader::finish() {
  if (!events_) return from_json();
  if (!errors_.empty()) return errors_;
  // Some servers end without a last word, but none without a reason.
  if (!done_ && reply_.finish_reason.empty()) {
    worth_another_ = true;
    return failed("cut-stream", any_ ? "the answer ends in the middle" : "the server sent no answer");
  }
  return checked();
}

Result<Reply> AnswerReader::from_json() {
  auto json = parse_json(pending_);
  if (!json || !json->is_object()) {
    if (!is_utf8(pending_)) return failed("not-utf8", "the answer is not UTF-8");
    return failed(
        "not-json",
        "the answer is not JSON, or nested too deep; it begins: " + pending_.substr(0, shown_bytes),
        "is this the address of the API, as in http://host:port/v1 ?");
  }
  if (says_error(*json)) return failed("server-error", error_text(pending_).substr(0, shown_bytes));
  take_name(*json, reply_);
  take_usage(member(*json, "usage"), reply_);
  if (form_ == WireForm::messages) {
    const auto& content = member(*json, "content");
    for (size_t i = 0; content.is_array() && i < content.size(); ++i)
      if (string_member(content[i], "type") == "text") reply_.text += string_member(content[i], "text");
    take_reason(*json, "stop_reason", reply_);
  } else {
    const auto& choice = element(member(*json, "choices"), 0);
    reply_.text = string_member(member(choice, "message"), "content");
    take_reason(choice, "finish_reason", reply_);
  }
  return checked();
}

Result<Reply> AnswerReader::checked() {
  if (!reply_.text.empty()) return reply_;
  if (reply_.finish_reason == "length") {
    return failed(
        "no-content",
        "the model used all its tokens before it wrote an answer",
        "raise max_tokens, or have the model think less");
  }
  return failed("no-content", "the server's answer has no text");
}

}  // namespace autoperfect
