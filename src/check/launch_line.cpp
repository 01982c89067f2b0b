#include "check/launch_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace autoperfect::code {

namespace {

struct Entry {
  std::string_view key, value;
  Where where;
};

std::string_view trimmed(std::string_view text) {
  auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

bool is_key(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

Where place(const Directive& directive, std::string_view part) {
  Where where = directive.where;
  where.column += static_cast<int>(part.data() - directive.text.data());
  where.length = static_cast<int>(std::max<size_t>(part.size(), 1));
  return where;
}

// `a=1 b=2, 3`: a key is the word before `=`.
std::vector<Entry> entries_of(const Directive& directive, Errors& errors) {
  std::vector<Entry> entries;
  auto text = directive.text;
  for (size_t at = text.find('='); at != std::string_view::npos;) {
    auto before = trimmed(text.substr(0, at));
    auto key = before.substr(before.find_last_of(" \t") + 1);
    size_t next = text.find('=', at + 1);
    size_t end = text.size();
    if (next != std::string_view::npos) {
      end = text.substr(0, next).find_last_not_of(" \t");
      end = end == std::string_view::npos ? next : text.substr(0, end + 1).find_last_of(" \t");
      if (end == std::string_view::npos || end < at) end = next;
    }
    auto value = trimmed(text.substr(at + 1, end > at ? end - at - 1 : 0));
    if (!is_key(key) || value.empty())
      errors.add("bad-launch", "the launch line is made of key=value", place(directive, key));
    entries.push_back({key, value, place(directive, value.empty() ? key : value)});
    at = next;
  }
  return entries;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    if (at < text.size() && text[at] == '(') ++depth;
    if (at < text.size() && text[at] == ')') --depth;
    if (at < text.size() && (text[at] != ',' || depth > 0)) continue;
    parts.push_back(trimmed(text.substr(begin, at - begin)));
    begin = at + 1;
  }
  return parts;
}

// As a launch evaluates it: numbers, and `d0` for what is dynamic.
std::string with_launch_names(std::string_view expression, const Abi& abi) {
  auto is_in_name = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); };
  std::string text;
  for (size_t at = 0; at < expression.size();) {
    size_t end = at;
    while (end < expression.size() && is_in_name(expression[end]))
      ++end;
    auto word = expression.substr(at, std::max<size_t>(end - at, 1));
    auto axis = std::find_if(
        abi.kernel.axes.begin(), abi.kernel.axes.end(), [&](const Axis& a) { return size_name(a) == word; });
    if (axis == abi.kernel.axes.end())
      text += word;
    else
      text += axis->dynamic ? "d0" : std::to_string(axis->size);
    at += word.size();
  }
  return text;
}

class LaunchReader {
 public:
  LaunchReader(const Abi& abi, std::string_view language, Errors& errors)
      : abi_(abi), is_cpu_(language == "cpu"), is_metal_(language == "metal"), errors_(errors) {}

  std::optional<Launch> run(const Directive& directive) {
    bool has_first = false;
    for (const auto& entry : entries_of(directive, errors_)) {
      read(entry);
      has_first |= entry.key == (is_cpu_ ? "parallel" : "grid");
    }
    if (!has_first)
      report("bad-launch", fmt::format("{} is missing", is_cpu_ ? "parallel=" : "grid="), directive.where);
    if (!is_cpu_) check_block(directive);
    return good_ ? std::optional(launch_) : std::nullopt;
  }

 private:
  void report(const char* code, std::string message, const Where& where, std::string hint = "") {
    errors_.add(code, std::move(message), where, std::move(hint));
    good_ = false;
  }

  void read(const Entry& entry) {
    if (is_cpu_) return read_cpu(entry);
    if (entry.key == "grid") {
      read_sizes(entry, launch_.grid, is_metal_ ? int64_t{1} << 31 : 2147483647);
    } else if (entry.key == "block") {
      read_sizes(entry, launch_.block, 1024);
    } else if (entry.key == "shared") {
      if (auto bytes = number(entry, 0, is_metal_ ? 32 << 10 : 48 << 10)) launch_.scratch_bytes = *bytes;
    } else {
      unknown(entry, "grid, block and shared");
    }
  }

  void read_cpu(const Entry& entry) {
    constexpr int64_t many = int64_t{1} << 31, most_scratch = 64 << 20, most_partial = 1 << 20;
    if (entry.key == "parallel") {
      read_axes(entry);
    } else if (entry.key == "grain") {
      set(launch_.grain, number(entry, 1, many));
    } else if (entry.key == "align") {
      set(launch_.align, number(entry, 1, many));
    } else if (entry.key == "scratch") {
      set(launch_.scratch_bytes, number(entry, 0, most_scratch));
    } else if (entry.key == "partial") {
      set(launch_.partial_bytes, number(entry, 0, most_partial));
    } else {
      unknown(entry, "parallel, grain, align, scratch and partial");
    }
  }

  static void set(int64_t& field, std::optional<int64_t> value) {
    if (value) field = *value;
  }

  void unknown(const Entry& entry, std::string_view known) {
    report("bad-launch", fmt::format("'{}' is none of {}", entry.key, known), entry.where);
  }

  void read_axes(const Entry& entry) {
    if (entry.value == "none") return;
    const auto& axes = abi_.kernel.axes;
    for (auto name : split(entry.value)) {
      auto axis = std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == name; });
      const auto id = static_cast<AxisId>(axis - axes.begin());
      if (axis == axes.end()) {
        report("bad-launch", fmt::format("'{}' is not an axis of the kernel", name), entry.where);
      } else if (std::find(launch_.parallel.begin(), launch_.parallel.end(), id) != launch_.parallel.end()) {
        report("bad-launch", fmt::format("axis '{}' is given twice", name), entry.where);
      } else {
        launch_.parallel.push_back(id);
      }
    }
  }

  // A number no dynamic size changes.
  std::optional<int64_t> number(const Entry& entry, int64_t least, int64_t most) {
    auto found = evaluate_size(entry.value, sizes_of(abi_.kernel, false));
    if (!found.value) {
      report("bad-launch", fmt::format("{}: {}", entry.key, found.problem), entry.where);
    } else if (*found.value < least || *found.value > most) {
      report(
          "launch-limit",
          fmt::format("{} is {}; it must be from {} to {}", entry.key, *found.value, least, most),
          entry.where);
    } else {
      return found.value;
    }
    return std::nullopt;
  }

  // One to three expressions; sizes may be dynamic, so the limits hold for the size first seen and are looked
  // at again at each launch.
  void read_sizes(const Entry& entry, std::vector<std::string>& sizes, int64_t most) {
    for (auto part : split(entry.value)) {
      const bool is_first = sizes.empty();
      auto found = evaluate_size(part, sizes_of(abi_.kernel, true));
      if (!found.value) {
        report("bad-launch", fmt::format("{}: {}", entry.key, found.problem), entry.where);
      } else if (*found.value < 1 || *found.value > (is_first ? most : std::min<int64_t>(most, 65535))) {
        report(
            "launch-limit",
            fmt::format("{} of {} is beyond the target", entry.key, *found.value),
            entry.where);
      }
      sizes.push_back(is_metal_ ? std::string(part) : with_launch_names(part, abi_));
    }
    if (sizes.size() > 3)
      report("bad-launch", fmt::format("{} has three numbers at most", entry.key), entry.where);
  }

  void check_block(const Directive& directive) {
    int64_t threads = 1;
    for (const auto& size : launch_.block) {
      auto found = evaluate_size(size, sizes_of(abi_.kernel, false));
      if (!found.value) report("bad-launch", "block: a dynamic size cannot be part of it", directive.where);
      threads *= std::clamp<int64_t>(found.value.value_or(1), 1, 2048);
    }
    if (launch_.block.empty()) report("bad-launch", "block= is missing", directive.where);
    if (threads > 1024)
      report(
          "launch-limit", fmt::format("a block of {} threads; 1024 are allowed", threads), directive.where);
  }

  const Abi& abi_;
  const bool is_cpu_, is_metal_;
  Errors& errors_;
  Launch launch_;
  bool good_ = true;
};

class GuardReader {
 public:
  GuardReader(const Abi& abi, std::string_view language, Errors& errors)
      : abi_(abi), most_(language == "cpu" ? 4096 : 256), errors_(errors) {}

  void read(const Directive& directive, Guards& guards) {
    for (auto condition : split(directive.text)) {
      if (!read_alignment(condition, guards) && !read_size(condition, guards))
        errors_.add(
            "bad-guard",
            fmt::format("'{}' is not a guard", condition),
            place(directive, condition),
            "write n_i % 16 == 0, n_i >= 64, n_i <= 4096 or aligned 64, with commas between");
    }
  }

 private:
  bool read_alignment(std::string_view condition, Guards& guards) const {
    if (!condition.starts_with("aligned ")) return false;
    auto bytes = evaluate_size(condition.substr(8), [](std::string_view) { return std::nullopt; }).value;
    if (!bytes || *bytes < 1 || *bytes > most_ || (*bytes & (*bytes - 1)) != 0) return false;
    guards.alignment = *bytes;
    return true;
  }

  bool read_size(std::string_view condition, Guards& guards) {
    for (std::string_view op : {">=", "<=", "=="}) {
      auto at = condition.find(op);
      if (at == std::string_view::npos) continue;
      auto left = trimmed(condition.substr(0, at)), right = trimmed(condition.substr(at + 2));
      std::optional<int64_t> modulus;
      if (auto percent = left.find('%'); percent != std::string_view::npos) {
        modulus = number(left.substr(percent + 1));
        left = trimmed(left.substr(0, percent));
        if (!modulus || op != "==" || right != "0") return false;
      }
      auto value = number(right);
      auto* guard = guard_of(left, guards);
      if (!value || !guard) return false;
      if (modulus) {
        guard->multiple = *modulus;
      } else if (op == ">=") {
        guard->least = *value;
      } else if (op == "<=") {
        guard->most = *value;
      } else {
        guard->least = guard->most = *value;
      }
      return true;
    }
    return false;
  }

  static std::optional<int64_t> number(std::string_view text) {
    auto value = evaluate_size(text, [](std::string_view) { return std::nullopt; }).value;
    return value && *value >= 0 ? value : std::nullopt;
  }

  // Of a dynamic axis: what a static one is, everybody knows.
  SizeGuard* guard_of(std::string_view name, Guards& guards) {
    for (size_t a = 0; a < abi_.kernel.axes.size(); ++a) {
      const auto& axis = abi_.kernel.axes[a];
      if (!axis.dynamic || size_name(axis) != name) continue;
      for (auto& guard : guards.sizes)
        if (guard.axis == static_cast<AxisId>(a)) return &guard;
      return &guards.sizes.emplace_back(SizeGuard{static_cast<AxisId>(a)});
    }
    return nullptr;
  }

  const Abi& abi_;
  const int64_t most_;  // alignment that memory can be had with
  Errors& errors_;
};

}  // namespace

std::optional<Launch> read_launch(
    const std::vector<Directive>& directives, const Abi& abi, std::string_view language, Errors& errors) {
  const Directive* found = nullptr;
  for (const auto& directive : directives) {
    if (directive.name != "launch") continue;
    if (found) {
      errors.add("bad-launch", "there is a launch line already", directive.where);
      continue;
    }
    found = &directive;
  }
  if (found) return LaunchReader(abi, language, errors).run(*found);
  errors.add(
      "bad-launch",
      "the launch line is missing",
      {1, 1, 1},
      language == "cpu" ? "begin with // launch: parallel=i" : "begin with // launch: grid=n_i block=256");
  return std::nullopt;
}

Guards read_guards(
    const std::vector<Directive>& directives, const Abi& abi, std::string_view language, Errors& errors) {
  Guards guards;
  for (const auto& directive : directives) {
    if (directive.name == "guard") GuardReader(abi, language, errors).read(directive, guards);
  }
  return guards;
}

}  // namespace autoperfect::code
