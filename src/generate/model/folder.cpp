// Answers that come later, from anybody who can read and write files: a prompt is written as
// <hash>.prompt.md, its answer is awaited as <hash>.answer.md. Until then the question is pending, which is
// an error that a later run with the same prompts resumes from.
#include <fmt/format.h>

#include <filesystem>

#include "generate/model/json.h"
#include "generate/model/providers.h"
#include "generate/model/recording.h"
#include "support/file.h"

namespace autoperfect {

namespace {

class FolderModel : public CodeModel {
 public:
  FolderModel(std::string folder, ModelOptions options)
      : folder_(std::move(folder)), options_(std::move(options)) {}

  Result<Reply> ask(const std::string& prompt, int attempt) override {
    auto name = std::filesystem::path(recording_name(prompt, attempt)).stem().string();
    auto base = folder_ + "/" + name;
    auto answer = base + ".answer.md";
    if (!std::filesystem::exists(answer)) return write_prompt(base + ".prompt.md", prompt, name);
    auto text = read_file(answer, options_.max_bytes);
    if (!text) {
      return Diagnostic{
          "model",
          "too-long",
          fmt::format("'{}' cannot be read, or has more than {} bytes", answer, options_.max_bytes)};
    }
    if (!is_utf8(*text)) return Diagnostic{"model", "not-utf8", fmt::format("'{}' is not UTF-8", answer)};
    Reply reply;
    reply.text = std::move(*text);
    reply.finish_reason = "stop";
    reply.model = options_.name.empty() ? "folder" : options_.name;
    return reply;
  }

 private:
  Result<Reply> write_prompt(const std::string& path, const std::string& prompt, const std::string& name) {
    if (!std::filesystem::exists(path)) {
      auto written = write_file_atomically(path, prompt);
      if (!written) return written.errors();
    }
    return Diagnostic{
        "model",
        "pending",
        fmt::format("the prompt waits for its answer: '{}'", path),
        {},
        fmt::format("write the answer to '{}/{}.answer.md' and run this again", folder_, name)};
  }

  std::string folder_;
  ModelOptions options_;
};

}  // namespace

ModelResult open_folder(const std::string& path, const ModelOptions& options) {
  auto made = make_private_directory(path);
  if (!made) return made.errors();
  return std::shared_ptr<CodeModel>(std::make_shared<FolderModel>(path, options));
}

}  // namespace autoperfect
