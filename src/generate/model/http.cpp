// A server as a model. Each question has a deadline that covers retries and the waiting between them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <random>
#include <thread>

#include "generate/model/budget.h"
#include "generate/model/key.h"
#include "generate/model/providers.h"
#include "generate/model/transport.h"
#include "generate/model/wire.h"
#include "support/number.h"

namespace autoperfect {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double first_wait = 0.25, longest_wait = 30;  // seconds
constexpr size_t shown_bytes = 300;                     // of a body, in a message

Diagnostic failure(std::string code, std::string message, std::string hint = "") {
  return {"model", std::move(code), std::move(message), {}, std::move(hint)};
}

// What one attempt came to.
struct Attempt {
  Result<Reply> reply;
  bool again = false;  // another may fare better
  double wait = -1;    // seconds the server asks for
  bool billed = true;  // when it failed: may cost all the same
};

double until(Clock::time_point deadline) {
  return std::chrono::duration<double>(deadline - Clock::now()).count();
}

// Seconds, or a date; below 0: neither.
double seconds_of(const std::string& retry_after) {
  if (auto number = parse_number(retry_after)) return *number >= 0 ? *number : -1;
  std::tm parts = {};
  if (!strptime(retry_after.c_str(), "%a, %d %b %Y %H:%M:%S", &parts)) return -1;
  return std::max(0.0, std::difftime(timegm(&parts), std::time(nullptr)));
}

bool may_pass(int status) {
  return status == 408 || status == 409 || status == 429 || (status >= 500 && status <= 599);
}

std::string hint_for(const HttpResponse& response) {
  switch (response.status) {
    case 401:
    case 403:
      return "set AUTOPERFECT_MODEL_KEY, or key_file, to a key of this server";
    case 404:
      return "is the address right (http://host:port/v1), and the name of the model?";
    default:
      return "";
  }
}

Attempt from_status(const HttpResponse& response, const std::string& body) {
  if (response.status >= 300 && response.status < 400) {
    return {
        failure(
            "redirected",
            fmt::format(
                "the server sends on to '{}', which is not followed",
                response.location.substr(0, shown_bytes)),
            "name that address yourself if it can be trusted"),
        false,
        -1,
        false};
  }
  auto text = error_text(body).substr(0, shown_bytes);
  return {
      failure(
          "http-status",
          fmt::format("the server answered {}: {}", response.status, text),
          hint_for(response)),
      may_pass(response.status),
      seconds_of(response.retry_after),
      false};
}

class HttpModel : public CodeModel {
 public:
  HttpModel(WireForm form, std::string base, bool direct, std::string key, ModelOptions options)
      : form_(form),
        url_(url_of(form, std::move(base))),
        direct_(direct),
        key_(std::move(key)),
        options_(std::move(options)),
        budget_(options_) {}

  Result<Reply> ask(const std::string& prompt, int attempt) override {
    auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(options_.seconds));
    for (int tried = 0;; ++tried) {
      auto reserved = budget_.reserve(prompt);
      if (!reserved) return reserved.errors();
      auto outcome = one(prompt, attempt, deadline);
      if (outcome.reply) {
        budget_.settle(*reserved, *outcome.reply);
        return without_key(std::move(*outcome.reply));
      }
      budget_.settle_unanswered(*reserved, outcome.billed);
      double wait = wait_after(outcome, tried);
      if (!outcome.again || tried >= options_.retries || wait > longest_wait || wait > until(deadline))
        return without_key(outcome.reply.errors(), tried);
      if (!sleep(wait)) return failure("cancelled", "stopped while waiting to ask again");
    }
  }

 private:
  Attempt one(const std::string& prompt, int attempt, Clock::time_point deadline) {
    HttpRequest request;
    request.url = url_;
    request.headers = headers_of(form_, key_, options_.stream);
    request.body = body_of(form_, options_, prompt, attempt);
    request.seconds = std::max(until(deadline), 0.001);
    request.idle_seconds = options_.idle_seconds;
    request.max_bytes = options_.max_bytes;
    request.direct = direct_;
    request.cancelled = options_.cancelled;
    std::unique_ptr<AnswerReader> reader;
    std::string error_body;
    auto response = post(request, [&](const HttpResponse& head, std::string_view bytes) {
      if (head.status != 200) {
        error_body.append(bytes);
        return true;
      }
      bool events = head.content_type.rfind("text/event-stream", 0) == 0;
      if (!reader) reader = std::make_unique<AnswerReader>(form_, events);
      return reader->feed(bytes);
    });
    if (!response) return {response.errors(), false, -1, false};
    if (response->outcome != HttpOutcome::answered) return from_transport(*response);
    if (response->status != 200) return from_status(*response, error_body);
    if (!reader) return {failure("cut-stream", "the server sent an empty answer"), true};
    auto reply = reader->finish();
    if (reply && reply->model.empty()) reply->model = options_.name;
    return {std::move(reply), reader->worth_another()};
  }

  Attempt from_transport(const HttpResponse& response) const {
    switch (response.outcome) {
      case HttpOutcome::unreachable:
        return {failure("unreachable", "the server cannot be reached: " + response.problem), true, -1, false};
      case HttpOutcome::untrusted:
        return {
            failure("untrusted", "the server cannot show that it is the one named: " + response.problem),
            false,
            -1,
            false};
      case HttpOutcome::timed_out:
        return {failure(
            "timeout", fmt::format("no complete answer in {:g} s", options_.seconds), "raise seconds")};
      case HttpOutcome::idle:
        return {
            failure("idle", fmt::format("not a byte in {:g} s", options_.idle_seconds), "raise idle_seconds"),
            true};
      case HttpOutcome::too_long:
        return {failure("too-long", fmt::format("the answer has more than {} bytes", options_.max_bytes))};
      case HttpOutcome::cancelled:
        return {failure("cancelled", "stopped while waiting for the answer")};
      default:
        return {failure("cut-stream", "the connection broke: " + response.problem), true};
    }
  }

  // What the server asks for; else twice as long each time, less a random part, so that many clients do not
  // come back at once.
  double wait_after(const Attempt& attempt, int tried) const {
    if (attempt.wait >= 0) return attempt.wait;
    thread_local std::minstd_rand random(std::random_device{}());
    double share = std::uniform_real_distribution<double>(0.5, 1.0)(random);
    return share * std::min(longest_wait, first_wait * std::exp2(tried));
  }

  bool sleep(double seconds) const {
    auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (Clock::now() < end) {
      if (options_.cancelled && *options_.cancelled) return false;
      std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(seconds, 0.001, 0.05)));
    }
    return true;
  }

  Reply without_key(Reply reply) const {
    reply.text = redact(std::move(reply.text), key_);
    reply.model = redact(std::move(reply.model), key_);
    reply.finish_reason = redact(std::move(reply.finish_reason), key_);
    return reply;
  }

  Result<Reply> without_key(std::vector<Diagnostic> errors, int tried) const {
    for (auto& error : errors) {
      error.message = redact(std::move(error.message), key_);
      if (tried > 0) error.message += fmt::format(" (asked {} times)", tried + 1);
    }
    return errors;
  }

  WireForm form_;
  std::string url_;
  bool direct_;
  std::string key_;
  ModelOptions options_;
  Budget budget_;
};

// Of http://host:port/path; brackets of IPv6 stay.
std::string host_of(const std::string& url) {
  auto begin = url.find("://") + 3;
  auto authority = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  auto end = authority[0] == '[' ? authority.find(']') + 1 : authority.find(':');
  return authority.substr(0, end);
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" || host.rfind("127.", 0) == 0;
}

Status check_url(const std::string& url) {
  bool plain = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < 0x7f; });
  bool http = url.rfind("http://", 0) == 0 || url.rfind("https://", 0) == 0;
  if (!plain || !http || host_of(url).empty())
    return failure("bad-model", "the address of a server is http://HOST:PORT/v1 or https://...");
  if (url.find('@') != std::string::npos || url.find_first_of("?#") != std::string::npos) {
    return failure(
        "bad-model",
        "the address of a server has no name, password or query in it",
        "keys come from AUTOPERFECT_MODEL_KEY or from key_file");
  }
  return Success{};
}

Status check_options(WireForm form, const ModelOptions& options) {
  if (form == WireForm::messages && options.name.empty())
    return failure("no-name", "this server must be told which model", "set name");
  if (options.spending_limit > 0 && options.prompt_price + options.completion_price <= 0)
    return failure("no-prices", "a spending limit needs prices", "set prompt_price and completion_price");
  return can_post();
}

}  // namespace

ModelResult open_http(const std::string& spec, const ModelOptions& options) {
  constexpr std::string_view anthropic = "anthropic:";
  bool messages = spec.rfind(anthropic, 0) == 0;
  auto form = messages ? WireForm::messages : WireForm::chat_completions;
  auto base = messages ? spec.substr(anthropic.size()) : spec;
  auto url = check_url(base);
  if (!url) return url.errors();
  auto good = check_options(form, options);
  if (!good) return good.errors();
  auto key = read_key(options.key_file);
  if (!key) return key.errors();
  bool local = is_loopback(host_of(base));
  if (!key->empty() && !local && base.rfind("https://", 0) != 0) {
    return failure(
        "key-in-clear",
        "the key would cross the network unencrypted",
        "use https, or reach the server through localhost (an SSH tunnel, say)");
  }
  return std::shared_ptr<CodeModel>(std::make_shared<HttpModel>(form, base, local, std::move(*key), options));
}

}  // namespace autoperfect
