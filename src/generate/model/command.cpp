// Any program as a model: the prompt on its standard input, the answer on its standard output. It gets a
// short environment without keys, a deadline, and its output is bounded.
#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "generate/model/json.h"
#include "generate/model/providers.h"
#include "support/options.h"
#include "support/subprocess.h"

namespace autoperfect {

namespace {

constexpr size_t shown_bytes = 300;  // of what it wrote to standard error

Diagnostic failure(std::string code, std::string message, std::string hint = "") {
  return {"model", std::move(code), std::move(message), {}, std::move(hint)};
}

std::string tail(const std::string& text) {
  return text.size() <= shown_bytes ? text : "..." + text.substr(text.size() - shown_bytes);
}

// Unlike elsewhere a relative path counts: whoever starts this wrote it.
std::string path_of(const std::string& name) {
  if (name.find('/') == std::string::npos) return find_program(name);
  std::error_code error;
  auto path = std::filesystem::canonical(name, error);
  return error ? "" : find_program(path.string());
}

class CommandModel : public CodeModel {
 public:
  CommandModel(std::vector<std::string> arguments, ModelOptions options)
      : arguments_(std::move(arguments)), options_(std::move(options)) {}

  Result<Reply> ask(const std::string& prompt, int) override {
    ProcessOptions process;
    process.input = prompt;
    process.environment = plain_environment();
    process.seconds = options_.seconds;
    process.cancelled = options_.cancelled;
    process.output_bytes = options_.max_bytes + 1;
    auto done = run_process(arguments_, process);
    if (!done) return done.errors();
    const auto& program = arguments_.front();
    if (done->cancelled) return failure("cancelled", fmt::format("stopped while waiting for '{}'", program));
    if (done->timed_out)
      return failure("timeout", fmt::format("'{}' gave no answer in {:g} s", program, options_.seconds));
    if (done->signal != 0)
      return failure("command-failed", fmt::format("'{}' was ended by signal {}", program, done->signal));
    if (done->exit_code != 0) {
      return failure(
          "command-failed",
          fmt::format("'{}' failed with status {}: {}", program, done->exit_code, tail(done->errors)));
    }
    if (static_cast<int64_t>(done->output.size()) > options_.max_bytes)
      return failure(
          "too-long", fmt::format("'{}' answered more than {} bytes", program, options_.max_bytes));
    if (!is_utf8(done->output))
      return failure("not-utf8", fmt::format("the answer of '{}' is not UTF-8", program));
    Reply reply;
    reply.text = std::move(done->output);
    reply.finish_reason = "stop";
    reply.model = options_.name.empty() ? program : options_.name;
    return reply;
  }

 private:
  std::vector<std::string> arguments_;
  ModelOptions options_;
};

}  // namespace

ModelResult open_command(const std::string& command, const ModelOptions& options) {
  std::istringstream words(command);
  std::vector<std::string> arguments;
  for (std::string word; words >> word;)
    arguments.push_back(word);
  auto path = arguments.empty() ? "" : path_of(arguments.front());
  if (path.empty()) {
    return failure(
        "no-program",
        fmt::format("'{}' names no program that can be run", command),
        "command:PROGRAM ARGUMENTS; a path, or a name that is found in PATH");
  }
  arguments.front() = path;
  return std::shared_ptr<CodeModel>(std::make_shared<CommandModel>(std::move(arguments), options));
}

}  // namespace autoperfect
