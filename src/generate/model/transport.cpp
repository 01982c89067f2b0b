#include "generate/model/transport.h"

#ifdef AUTOPERFECT_CURL

#include <curl/curl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "support/library_functions.h"

namespace autoperfect {

namespace {

using Clock = std::chrono::steady_clock;

#ifdef __APPLE__
constexpr const char* library_name = "libcurl.4.dylib";
#else
constexpr const char* library_name = "libcurl.so.4";
#endif

// The few functions of libcurl we need. Linked at run time: it brings thirty libraries along, which no
// program that never asks a model should load.
struct Curl {
  decltype(&::curl_easy_init) init = nullptr;
  decltype(&::curl_easy_setopt) setopt = nullptr;
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_getinfo) getinfo = nullptr;
  decltype(&::curl_easy_strerror) strerror = nullptr;
  decltype(&::curl_easy_cleanup) cleanup = nullptr;
  decltype(&::curl_slist_append) append = nullptr;
  decltype(&::curl_slist_free_all) free_all = nullptr;
};

Result<Curl> load_curl() {
  void* library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);  // for the life of the process
  auto missing = [](const char* what) {
    return Diagnostic{
        "model",
        "no-curl",
        fmt::format("{} is needed for servers and cannot be loaded: {}", library_name, what),
        {},
        "apt-get install libcurl4, or use a command: or folder: model"};
  };
  if (!library) return missing(dlerror());
  Curl curl;
  decltype(&::curl_global_init) global_init = nullptr;
  LibraryFunctions functions(library);
  functions.find(global_init, "curl_global_init");
  functions.find(curl.init, "curl_easy_init");
  functions.find(curl.setopt, "curl_easy_setopt");
  functions.find(curl.perform, "curl_easy_perform");
  functions.find(curl.getinfo, "curl_easy_getinfo");
  functions.find(curl.strerror, "curl_easy_strerror");
  functions.find(curl.cleanup, "curl_easy_cleanup");
  functions.find(curl.append, "curl_slist_append");
  functions.find(curl.free_all, "curl_slist_free_all");
  if (!functions.all_found() || global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return missing("it lacks a function");
  return curl;
}

const Result<Curl>& curl() {
  static const Result<Curl>* loaded = new Result<Curl>(load_curl());
  return *loaded;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One request under way.
class Exchange {
 public:
  Exchange(const Curl& curl, const HttpRequest& request, const BodyReader& read)
      : curl_(curl),
        request_(request),
        read_(read),
        handle_(curl.init(), curl.cleanup),
        headers_(nullptr, curl.free_all) {}

  HttpResponse run() {
    if (!handle_ || !set_up()) {
      response_.outcome = HttpOutcome::unreachable;
      response_.problem = "no memory for a request";
      return response_;
    }
    CURLcode code = curl_.perform(handle_.get());
    long status = 0;
    curl_.getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    response_.status = static_cast<int>(status);
    response_.outcome = outcome_of(code);
    if (response_.outcome != HttpOutcome::answered)
      response_.problem = *error_ ? error_ : curl_.strerror(code);
    return response_;
  }

 private:
  bool set_up() {
    curl_slist* list = nullptr;
    for (const auto& header : request_.headers) {
      auto* longer = curl_.append(list, header.c_str());
      if (!longer) return false;
      list = longer;
      headers_.release();
      headers_.reset(list);
    }
    auto set = [this](CURLoption option, auto value) {
      return curl_.setopt(handle_.get(), option, value) == CURLE_OK;
    };
    auto milliseconds = static_cast<long>(std::clamp(request_.seconds * 1e3, 1.0, 1e9));
    if (request_.direct) set(CURLOPT_PROXY, "");
    return set(CURLOPT_URL, request_.url.c_str()) && set(CURLOPT_HTTPHEADER, headers_.get()) &&
           set(CURLOPT_POST, 1L) && set(CURLOPT_POSTFIELDS, request_.body.data()) &&
           set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size())) &&
           set(CURLOPT_FOLLOWLOCATION, 0L) &&  // a key goes nowhere but to the server it is for
           set(CURLOPT_NOSIGNAL, 1L) && set(CURLOPT_TIMEOUT_MS, milliseconds) &&
           set(CURLOPT_CONNECTTIMEOUT_MS, std::min(milliseconds, 30'000L)) &&
           set(CURLOPT_ERRORBUFFER, static_cast<char*>(error_)) && set(CURLOPT_NOPROGRESS, 0L) &&
           set(CURLOPT_XFERINFOFUNCTION, &Exchange::on_progress) && set(CURLOPT_XFERINFODATA, this) &&
           set(CURLOPT_HEADERFUNCTION, &Exchange::on_header) && set(CURLOPT_HEADERDATA, this) &&
           set(CURLOPT_WRITEFUNCTION, &Exchange::on_body) && set(CURLOPT_WRITEDATA, this);
  }

  // Counts what came; false when that is too much.
  bool take(size_t bytes) {
    last_byte_ = Clock::now();
    received_ += static_cast<int64_t>(bytes);
    if (received_ > request_.max_bytes) stopped_ = HttpOutcome::too_long;
    return received_ <= request_.max_bytes;
  }

  static size_t on_header(char* data, size_t, size_t size, void* self) {
    return static_cast<Exchange*>(self)->header({data, size}) ? size : 0;
  }
  static size_t on_body(char* data, size_t, size_t size, void* self) {
    return static_cast<Exchange*>(self)->body({data, size}) ? size : 0;
  }
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Exchange*>(self)->goes_on() ? 0 : 1;
  }

  bool header(std::string_view line) {
    auto colon = line.find(':');
    if (line.substr(0, 5) == "HTTP/") response_ = {};  // after 100 Continue the real one begins
    if (colon != std::string_view::npos) {
      std::string name(line.substr(0, colon));
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      auto value = line.substr(colon + 1);
      auto begin = value.find_first_not_of(" \t"), end = value.find_last_not_of(" \t\r\n");
      std::string text(
          begin > end || begin == std::string_view::npos ? "" : value.substr(begin, end - begin + 1));
      if (name == "content-type") response_.content_type = text;
      if (name == "location") response_.location = text;
      if (name == "retry-after") response_.retry_after = text;
    }
    return take(line.size());
  }

  bool body(std::string_view bytes) {
    if (!take(bytes.size())) return false;
    long status = 0;
    curl_.getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    response_.status = static_cast<int>(status);
    if (read_(response_, bytes)) return true;
    stopped_ = HttpOutcome::answered;
    return false;
  }

  bool goes_on() {
    if (request_.cancelled && *request_.cancelled)
      stopped_ = HttpOutcome::cancelled;
    else if (seconds_since(last_byte_) > request_.idle_seconds)
      stopped_ = HttpOutcome::idle;
    else
      return true;
    return false;
  }

  HttpOutcome outcome_of(CURLcode code) const {
    switch (code) {
      case CURLE_OK:
        return HttpOutcome::answered;
      case CURLE_WRITE_ERROR:
      case CURLE_ABORTED_BY_CALLBACK:
        return stopped_;
      case CURLE_OPERATION_TIMEDOUT:
        return HttpOutcome::timed_out;
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_RESOLVE_PROXY:
      case CURLE_COULDNT_CONNECT:
      case CURLE_SSL_CONNECT_ERROR:
        return HttpOutcome::unreachable;
      case CURLE_PEER_FAILED_VERIFICATION:
        return HttpOutcome::untrusted;
      default:
        return HttpOutcome::cut;
    }
  }

  const Curl& curl_;
  const HttpRequest& request_;
  const BodyReader& read_;
  std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)> handle_;
  std::unique_ptr<curl_slist, decltype(&::curl_slist_free_all)> headers_;
  char error_[CURL_ERROR_SIZE] = {};
  Clock::time_point last_byte_ = Clock::now();
  int64_t received_ = 0;
  HttpOutcome stopped_ = HttpOutcome::cut;  // why a callback ended it
  HttpResponse response_;
};

}  // namespace

Status can_post() {
  if (!curl()) return curl().errors();
  return Success{};
}

Result<HttpResponse> post(const HttpRequest& request, const BodyReader& read) {
  if (!curl()) return curl().errors();
  return Exchange(*curl(), request, read).run();
}

}  // namespace autoperfect

#else

namespace autoperfect {

Status can_post() {
  return Diagnostic{
      "model",
      "no-curl",
      "this was built without libcurl, which servers need",
      {},
      "build with libcurl4-openssl-dev installed, or use a command: or folder: model"};
}

Result<HttpResponse> post(const HttpRequest&, const BodyReader&) {
  return can_post().errors();
}

}  // namespace autoperfect

#endif
