// Models that need no server: programs, folders, recordings; and settings. Servers:
// tests/python/test_model_http.py.
#include "generate/model/code_model.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "generate/model/budget.h"
#include "generate/model/json.h"
#include "generate/model/recording.h"
#include "support/file.h"

namespace autoperfect {
namespace {

class CodeModels : public testing::Test {
 protected:
  void SetUp() override {
    auto pattern = testing::TempDir() + "code_model_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string script(const std::string& text) {
    auto path = folder_ + "/model.sh";
    std::ofstream(path) << "#!/bin/sh\n" << text;
    chmod(path.c_str(), 0700);
    return "command:" + path;
  }

  static std::shared_ptr<CodeModel> open(
      const std::string& spec, const std::map<std::string, std::string>& settings = {}) {
    auto options = model_options(spec, settings);
    EXPECT_TRUE(options.ok());
    auto model = open_model(*options);
    EXPECT_TRUE(model.ok()) << (model ? "" : format(model.errors()));
    return model ? *model : nullptr;
  }

  static std::string code_of(const Result<Reply>& reply) {
    return reply ? "answered: " + reply->text : reply.errors().front().code;
  }

  std::string folder_;
};

TEST_F(CodeModels, AProgramReadsThePromptAndWritesTheAnswer) {
  auto model = open(script("printf 'got: '; cat; printf \" $1\""), {});
  EXPECT_EQ(code_of(model->ask("a\nb", 0)), "answered: got: a\nb ");
  auto with_argument = open(script("cat; printf \" $1 $2\"") + " one two");
  EXPECT_EQ(code_of(with_argument->ask("p", 0)), "answered: p one two");
}

TEST_F(CodeModels, AProgramSeesNoKeys) {
  setenv("AUTOPERFECT_MODEL_KEY", "secret-1", 1);
  setenv("SOME_API_KEY", "secret-2", 1);
  auto reply = open(script("env"))->ask("p", 0);
  unsetenv("AUTOPERFECT_MODEL_KEY");
  unsetenv("SOME_API_KEY");
  ASSERT_TRUE(reply.ok());
  EXPECT_NE(reply->text.find("PATH="), std::string::npos);
  EXPECT_EQ(reply->text.find("secret"), std::string::npos);
}

TEST_F(CodeModels, AProgramThatMisbehaves) {
  EXPECT_EQ(code_of(open(script("echo half; echo why >&2; exit 3"))->ask("p", 0)), "command-failed");
  EXPECT_EQ(code_of(open(script("kill -9 $$"))->ask("p", 0)), "command-failed");
  EXPECT_EQ(
      code_of(open(script("yes"), {{"max_bytes", "1000"}, {"seconds", "0.5"}})->ask("p", 0)), "timeout");
  EXPECT_EQ(
      code_of(open(script("head -c 1001 /dev/zero"), {{"max_bytes", "1000"}})->ask("p", 0)), "too-long");
  EXPECT_EQ(code_of(open(script("printf '\\377'"))->ask("p", 0)), "not-utf8");
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of(open(script("sleep 60 & sleep 60"), {{"seconds", "0.3"}})->ask("p", 0)), "timeout");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(CodeModels, SpecificationsThatNameNothing) {
  for (const char* spec :
       {"", "http", "nonsense", "command:", "command:/no/such/program", "folder:", "replay:"}) {
    ModelOptions options;
    options.spec = spec;
    EXPECT_FALSE(open_model(options).ok()) << spec;
  }
}

TEST_F(CodeModels, AFolderKeepsThePromptUntilSomebodyAnswers) {
  auto model = open("folder:" + folder_ + "/inbox");
  EXPECT_EQ(code_of(model->ask("the prompt", 0)), "pending");
  EXPECT_EQ(code_of(model->ask("the prompt", 0)), "pending");
  EXPECT_EQ(code_of(model->ask("the prompt", 1)), "pending");
  std::vector<std::string> prompts;
  for (auto& entry : std::filesystem::directory_iterator(folder_ + "/inbox"))
    prompts.push_back(entry.path());
  ASSERT_EQ(prompts.size(), 2u);
  std::sort(prompts.begin(), prompts.end());  // <hash>.1.prompt.md is first
  EXPECT_EQ(read_file(prompts[1]), "the prompt");
  auto answer = prompts[1].substr(0, prompts[1].rfind(".prompt.md")) + ".answer.md";
  std::ofstream(answer) << "the answer";
  auto later = open("folder:" + folder_ + "/inbox", {{"name", "a person"}});
  auto reply = later->ask("the prompt", 0);
  EXPECT_EQ(code_of(reply), "answered: the answer");
  EXPECT_EQ(reply->model, "a person");
  EXPECT_EQ(code_of(later->ask("another prompt", 0)), "pending");
  std::ofstream(answer) << "\xff";
  EXPECT_EQ(code_of(later->ask("the prompt", 0)), "not-utf8");
}

TEST_F(CodeModels, RecordingsAreOfOnePromptAndOneAttempt) {
  auto recorder = open(script("cat; date +%N"), {{"record", folder_ + "/rec"}, {"date", "2001-01-01"}});
  auto first = recorder->ask("prompt", 0), second = recorder->ask("prompt", 1);
  auto replay = open("replay:" + folder_ + "/rec");
  EXPECT_EQ(code_of(replay->ask("prompt", 0)), code_of(first));
  EXPECT_EQ(code_of(replay->ask("prompt", 1)), code_of(second));
  auto missing = replay->ask("prompt", 2);
  EXPECT_EQ(code_of(missing), "not-recorded");
  EXPECT_NE(missing.errors().front().message.find(recording_name("prompt", 2)), std::string::npos);
  // A recording under the hash of another prompt is not taken for its answer.
  std::filesystem::rename(
      folder_ + "/rec/" + recording_name("prompt", 0), folder_ + "/rec/" + recording_name("other", 0));
  EXPECT_EQ(code_of(replay->ask("other", 0)), "not-recorded");
}

TEST(Recordings, PrintAndParse) {
  Recording recording{"p\n\"q\"", 3, {"ans\twer\n", "length", "m 1", 5, 7}, "2001-01-01"};
  auto parsed = parse_recording(print(recording));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->prompt, recording.prompt);
  EXPECT_EQ(parsed->attempt, 3);
  EXPECT_EQ(parsed->reply.text, recording.reply.text);
  EXPECT_EQ(parsed->reply.finish_reason, "length");
  EXPECT_EQ(parsed->reply.model, "m 1");
  EXPECT_EQ(parsed->reply.prompt_tokens, 5);
  EXPECT_EQ(parsed->reply.completion_tokens, 7);
  EXPECT_EQ(parsed->date, "2001-01-01");
  for (const char* text : {"", "{}", "[]", "{\"format\": \"autoperfect.recording 1\"}", "{\"format\": 1}"})
    EXPECT_FALSE(parse_recording(text).ok()) << text;
}

// Counts how many are inside at once.
TEST_F(CodeModels, ConcurrencyIsLimited) {
  auto spec =
      script("cd " + folder_ + "; touch in.$$; ls in.* | wc -l >> counts; sleep 0.1; rm in.$$; echo done");
  auto model = open(spec, {{"concurrency", "2"}});
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] { EXPECT_EQ(code_of(model->ask("p", 0)), "answered: done\n"); });
  for (auto& thread : threads)
    thread.join();
  std::ifstream counts(folder_ + "/counts");
  int lines = 0;
  for (int count; counts >> count; ++lines)
    EXPECT_LE(count, 2);
  EXPECT_EQ(lines, 6);
}

TEST(ModelSettings, ByNameWithTheirRanges) {
  auto options =
      model_options("x", {{"temperature", "0.5"}, {"max_tokens", "77"}, {"stream", "false"}, {"name", "n"}});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->temperature, 0.5);
  EXPECT_EQ(options->max_tokens, 77);
  EXPECT_FALSE(options->stream);
  EXPECT_EQ(options->name, "n");
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"temperature", "3"},
           {"max_tokens", "1.5"},
           {"retries", "-1"},
           {"seconds", "nan"},
           {"stream", "yes"},
           {"concurrency", "0"}}) {
    auto bad = model_options("x", {{name, value}});
    ASSERT_FALSE(bad.ok()) << name;
    EXPECT_EQ(bad.errors().front().code, "bad-setting");
  }
}

TEST(ModelSettings, AnUnknownNameIsAnErrorThatRepeatsNoValue) {
  auto bad = model_options("x", {{"temprature", "1"}, {"api_key", "sk-secret"}});
  ASSERT_FALSE(bad.ok());
  ASSERT_EQ(bad.errors().size(), 2u);
  EXPECT_EQ(bad.errors()[1].hint, "did you mean 'temperature'?");
  EXPECT_EQ(format(bad.errors()).find("sk-secret"), std::string::npos);
}

ModelOptions priced(double limit) {
  ModelOptions options;
  options.prompt_price = 1e6;  // 1 a token
  options.completion_price = 2e6;
  options.max_tokens = 100;
  options.spending_limit = limit;
  return options;
}

TEST(ModelBudget, SetsAsideTheMostAndKeepsWhatItCost) {
  const std::string prompt(44, 'p');  // at most 44 + 256 tokens: 300, and 200 for the answer
  Budget budget(priced(1000));
  auto first = budget.reserve(prompt), second = budget.reserve(prompt);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_DOUBLE_EQ(*first, 500);
  EXPECT_EQ(budget.reserve(prompt).errors().front().code, "spending-limit");
  budget.settle(*first, Reply{"", "", "", 30, 10});  // 50
  budget.settle_unanswered(*second, false);
  auto third = budget.reserve(prompt);
  ASSERT_TRUE(third.ok());
  budget.settle(*third, Reply{});  // no usage told: all of it, 550 by now
  EXPECT_FALSE(budget.reserve(prompt).ok());
}

TEST(ModelBudget, AQuestionThatFailedMayHaveCost) {
  Budget budget(priced(900));
  auto first = budget.reserve("");
  ASSERT_TRUE(first.ok());
  budget.settle_unanswered(*first, true);
  EXPECT_FALSE(budget.reserve("").ok());
}

TEST(ModelJson, DepthIsLimited) {
  auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json(nested(deepest_json)).has_value());
  EXPECT_FALSE(parse_json(nested(deepest_json + 1)).has_value());
  EXPECT_TRUE(parse_json("\"" + std::string(1000, '[') + "\\\"[\"").has_value());
  EXPECT_FALSE(parse_json("{\"a\": \"\xff\"}").has_value());
}

TEST(ModelJson, CountsAreNeverNegative) {
  auto json = *parse_json("{\"a\": -5, \"b\": 1e300, \"c\": 7, \"d\": \"8\"}");
  EXPECT_EQ(count_member(json, "a"), 0);
  EXPECT_EQ(count_member(json, "b"), 0);
  EXPECT_EQ(count_member(json, "c"), 7);
  EXPECT_EQ(count_member(json, "d"), 0);
}

}  // namespace
}  // namespace autoperfect
