// The two forms servers speak, OpenAI's chat completions and Anthropic's messages: the request as JSON, the
// answer from JSON or from a stream of server-sent events.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "generate/model/code_model.h"

namespace autoperfect {

enum class WireForm { chat_completions, messages };

std::string url_of(WireForm form, std::string base);
std::string body_of(WireForm form, const ModelOptions& options, const std::string& prompt, int attempt);
std::vector<std::string> headers_of(WireForm form, const std::string& key, bool stream);

// What a body says of an error, for a message: its own words when it is JSON, else how it begins.
std::string error_text(const std::string& body);

// Reads a body that comes in pieces.
class AnswerReader {
 public:
  AnswerReader(WireForm form, bool events) : form_(form), events_(events) {}

  bool feed(std::string_view bytes);  // false: the answer is complete or useless, read no more
  Result<Reply> finish();             // of what came; its Diagnostics have no key removed yet

  // Of the last finish() that failed: whether the same question may be answered another time.
  bool worth_another() const { return worth_another_; }

 private:
  void take_line(std::string_view line);
  void take_event(const std::string& data);
  void take_chunk(const nlohmann::json& chunk);    // chat completions
  void take_message(const nlohmann::json& event);  // messages
  Diagnostic failed(std::string code, std::string message, std::string hint = "");
  Result<Reply> from_json();
  Result<Reply> checked();

  WireForm form_;
  bool events_;
  std::string pending_, data_;  // a line and an event that are not complete
  Reply reply_;
  bool done_ = false, any_ = false, worth_another_ = false;
  std::vector<Diagnostic> errors_;
};

}  // namespace autoperfect
