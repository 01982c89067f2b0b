// What a check collects: every violation of a draft, in the order of its lines.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/result.h"

namespace autoperfect::code {

class Errors {
 public:
  void add(std::string code, std::string message, const Where& where, std::string hint = "") {
    if (found_.size() < most)
      found_.push_back({"check", std::move(code), std::move(message), where, std::move(hint)});
  }
  void add_too_many_constants(size_t most) {
    auto message = "data is compared with more than " + std::to_string(most) + " numbers";
    add("too-many-constants", message, {1, 1, 1}, "inputs are made around each of them");
  }
  bool has_line(int line) const {
    return std::any_of(found_.begin(), found_.end(), [&](auto& one) { return one.where.line == line; });
  }
  bool empty() const { return found_.empty(); }

  // One of each kind a place.
  std::vector<Diagnostic> take() {
    auto place = [](const Diagnostic& d) { return std::tie(d.where.line, d.where.column, d.code); };
    std::stable_sort(found_.begin(), found_.end(), [&](auto& a, auto& b) { return place(a) < place(b); });
    auto same = [&](auto& a, auto& b) { return place(a) == place(b); };
    found_.erase(std::unique(found_.begin(), found_.end(), same), found_.end());
    return std::move(found_);
  }

 private:
  static constexpr size_t most = 200;  // of a draft that is nothing but errors
  std::vector<Diagnostic> found_;
};

}  // namespace autoperfect::code
