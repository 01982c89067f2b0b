#include <fmt/format.h>

#include <condition_variable>
#include <mutex>

#include "generate/model/providers.h"

namespace autoperfect {

namespace {

// So many questions at once, the others wait.
class LimitedModel : public CodeModel {
 public:
  LimitedModel(std::shared_ptr<CodeModel> model, const ModelOptions& options)
      : model_(std::move(model)), cancelled_(options.cancelled), free_(options.concurrency) {}

  Result<Reply> ask(const std::string& prompt, int attempt) override {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return free_ > 0; });
      --free_;
    }
    bool stop = cancelled_ && *cancelled_;
    auto reply =
        stop ? Diagnostic{"model", "cancelled", "stopped before it was asked"} : model_->ask(prompt, attempt);
    {
      std::lock_guard lock(mutex_);
      ++free_;
    }
    changed_.notify_one();
    return reply;
  }

 private:
  std::shared_ptr<CodeModel> model_;
  const std::atomic<bool>* cancelled_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
};

ModelResult open_provider(const ModelOptions& options) {
  const auto& spec = options.spec;
  auto colon = spec.find(':');
  auto kind = spec.substr(0, colon);
  auto rest = colon == std::string::npos ? "" : spec.substr(colon + 1);
  if (kind == "http" || kind == "https" || kind == "anthropic") return open_http(spec, options);
  if (kind == "command") return open_command(rest, options);
  if (kind == "folder" && !rest.empty()) return open_folder(rest, options);
  if (kind == "replay" && !rest.empty()) return open_replay(rest);
  return Diagnostic{
      "model",
      "bad-model",
      "this names no model",
      {},
      "http://HOST:PORT/v1, https://..., anthropic:https://..., command:PROGRAM, folder:PATH or replay:PATH"};
}

}  // namespace

ModelResult open_model(const ModelOptions& options) {
  auto model = open_provider(options);
  if (!model) return model;
  std::shared_ptr<CodeModel> limited = std::make_shared<LimitedModel>(std::move(*model), options);
  if (options.record.empty()) return limited;
  return recorded(std::move(limited), options);
}

}  // namespace autoperfect
