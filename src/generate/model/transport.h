// One HTTP request and what came of it: bounded in time and bytes, never redirected. Through libcurl, which
// is loaded when the first request is made; a machine without it can do all the rest.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace autoperfect {

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::string body;
  double seconds = 0, idle_seconds = 0;
  int64_t max_bytes = 0;
  bool direct = false;  // without a proxy, whatever the environment says
  const std::atomic<bool>* cancelled = nullptr;
};

enum class HttpOutcome { answered, unreachable, untrusted, timed_out, idle, too_long, cut, cancelled };

struct HttpResponse {
  HttpOutcome outcome = HttpOutcome::answered;
  std::string problem;  // libcurl's words, unless it was answered
  int status = 0;       // 0: the server did not get so far
  std::string content_type, location;
  std::string retry_after;
};

// Takes the bytes of the body as they come, after the status and the headers; false: that was all that is
// needed, which counts as answered.
using BodyReader = std::function<bool(const HttpResponse& head, std::string_view bytes)>;

// An error only when there is no libcurl.
Result<HttpResponse> post(const HttpRequest& request, const BodyReader& read);
Status can_post();

}  // namespace autoperfect
