#include "generate/model/recording.h"

#include <fmt/format.h>

#include "generate/model/json.h"
#include "generate/model/providers.h"
#include "support/file.h"
#include "support/hash.h"

namespace autoperfect {

namespace {

constexpr const char* format_name = "autoperfect.recording 1";
constexpr int64_t most_bytes = 64 << 20;

class ReplayModel : public CodeModel {
 public:
  explicit ReplayModel(std::string folder) : folder_(std::move(folder)) {}

  Result<Reply> ask(const std::string& prompt, int attempt) override {
    auto name = recording_name(prompt, attempt);
    auto text = read_file(folder_ + "/" + name, most_bytes);
    if (!text) {
      return Diagnostic{
          "model",
          "not-recorded",
          fmt::format("'{}' has no recording {}", folder_, name),
          {},
          "prompts changed since it was recorded, or it is a recording of other kernels"};
    }
    auto recording = parse_recording(*text);
    if (!recording) {
      return Diagnostic{
          "model",
          "bad-recording",
          fmt::format("'{}/{}' {}", folder_, name, recording.errors().front().message)};
    }
    // The hash only finds the file.
    if (recording->prompt != prompt || recording->attempt != attempt) {
      return Diagnostic{
          "model", "not-recorded", fmt::format("'{}/{}' answers another prompt", folder_, name)};
    }
    return recording->reply;
  }

 private:
  std::string folder_;
};

class RecordingModel : public CodeModel {
 public:
  RecordingModel(std::shared_ptr<CodeModel> model, std::string folder, std::string date)
      : model_(std::move(model)), folder_(std::move(folder)), date_(std::move(date)) {}

  Result<Reply> ask(const std::string& prompt, int attempt) override {
    auto reply = model_->ask(prompt, attempt);
    if (!reply) return reply;
    auto text = print(Recording{prompt, attempt, *reply, date_});
    auto written = write_file_atomically(folder_ + "/" + recording_name(prompt, attempt), text);
    if (!written) return written.errors();
    return reply;
  }

 private:
  std::shared_ptr<CodeModel> model_;
  std::string folder_, date_;
};

}  // namespace

std::string recording_name(const std::string& prompt, int attempt) {
  auto hash = hash_hex(prompt);
  return attempt == 0 ? hash + ".json" : fmt::format("{}.{}.json", hash, attempt);
}

std::string print(const Recording& recording) {
  const auto& reply = recording.reply;
  nlohmann::ordered_json json = {
      {"format", format_name},
      {"prompt_hash", hash_hex(recording.prompt)},
      {"attempt", recording.attempt},
      {"model", reply.model},
      {"date", recording.date},
      {"finish_reason", reply.finish_reason},
      {"prompt_tokens", reply.prompt_tokens},
      {"completion_tokens", reply.completion_tokens},
      {"prompt", recording.prompt},
      {"reply", reply.text},
  };
  return json.dump(2) + "\n";
}

Result<Recording> parse_recording(const std::string& text) {
  auto bad = [](const char* why) { return Diagnostic{"model", "bad-recording", why}; };
  auto json = parse_json(text);
  if (!json) return bad("is not JSON");
  if (string_member(*json, "format") != format_name) return bad("is not a recording of this format");
  if (!member(*json, "prompt").is_string() || !member(*json, "reply").is_string())
    return bad("has no prompt or no reply");
  Recording recording;
  recording.prompt = string_member(*json, "prompt");
  recording.attempt = static_cast<int>(count_member(*json, "attempt"));
  recording.date = string_member(*json, "date");
  recording.reply.text = string_member(*json, "reply");
  recording.reply.finish_reason = string_member(*json, "finish_reason");
  recording.reply.model = string_member(*json, "model");
  recording.reply.prompt_tokens = count_member(*json, "prompt_tokens");
  recording.reply.completion_tokens = count_member(*json, "completion_tokens");
  if (string_member(*json, "prompt_hash") != hash_hex(recording.prompt))
    return bad("was edited: its hash differs");
  return recording;
}

ModelResult open_replay(const std::string& path) {
  return std::shared_ptr<CodeModel>(std::make_shared<ReplayModel>(path));
}

ModelResult recorded(std::shared_ptr<CodeModel> model, const ModelOptions& options) {
  auto folder = make_private_directory(options.record);
  if (!folder) return folder.errors();
  return std::shared_ptr<CodeModel>(
      std::make_shared<RecordingModel>(std::move(model), options.record, options.date));
}

}  // namespace autoperfect
