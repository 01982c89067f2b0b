// Whoever answers a prompt: a server, a program, a person, a recording. A model only proposes source; nothing
// it says is trusted, and every byte of it is bounded. Where an answer cannot be had the result says why; no
// key is ever part of a message, a reply or a recording.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "support/result.h"

namespace autoperfect {

struct Reply {
  std::string text;
  std::string finish_reason;  // "stop", "length" (cut by the token limit), or what the server said
  std::string model;          // as the server names it
  int64_t prompt_tokens = 0, completion_tokens = 0;  // 0: not told
};

struct ModelOptions {
  // "http://host:port/v1", "https://...": OpenAI-compatible chat completions; "anthropic:https://...": the
  // Anthropic messages form; "command:program arguments"; "folder:path"; "replay:path".
  std::string spec;
  std::string name;            // of the model, as the server knows it; empty: the server's own choice
  double temperature = -1;     // below 0: the server's own
  int64_t seed = 0;            // of sampling; each attempt of a prompt adds its number
  int64_t max_tokens = 16384;  // of one answer
  std::string tokens_field = "max_tokens";  // some servers want max_completion_tokens
  bool stream = true;
  int concurrency = 4;           // requests at once
  int retries = 4;               // of one request, when it may help
  double seconds = 600;          // deadline of one question, retries included
  double idle_seconds = 120;     // without a byte
  int64_t max_bytes = 16 << 20;  // of one response
  // Prices and limit in the same currency, prices for a million tokens. A request that could exceed what is
  // left is not sent.
  double prompt_price = 0, completion_price = 0, spending_limit = 0;
  std::string key_file;  // private; empty: AUTOPERFECT_MODEL_KEY, or no key
  std::string record;    // a folder that receives a recording of every answer
  std::string date;      // what recordings say of when; given, as nothing here reads the clock
  const std::atomic<bool>* cancelled = nullptr;  // ends waiting when it becomes true
};

// Options from settings by their names ("temperature" -> "0.2"), as the command line and Python give them.
// Unknown names, malformed or absurd values are errors.
Result<ModelOptions> model_options(
    const std::string& spec, const std::map<std::string, std::string>& settings);

class CodeModel {
 public:
  virtual ~CodeModel() = default;
  // Waits for the answer. May be called from several threads. `attempt` tells apart questions that have the
  // same prompt (0 for the first).
  virtual Result<Reply> ask(const std::string& prompt, int attempt) = 0;
};

// Checks the options and what they name (key, program, folder); sends nothing.
Result<std::shared_ptr<CodeModel>> open_model(const ModelOptions& options);

}  // namespace autoperfect
