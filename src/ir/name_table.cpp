#include "ir/name_table.h"

#include <algorithm>

#include "ir/graph.h"
#include "ir/identifier.h"

namespace autoperfect {

namespace {

constexpr size_t longest_suffix = 9;  // digits; a longer number is no suffix of ours

// Where the digits of a trailing _12 begin, or npos.
size_t find_suffix(const std::string& name) {
  size_t last = name.find_last_not_of("0123456789");
  if (last == std::string::npos || last == 0 || name[last] != '_') return std::string::npos;
  size_t digits = name.size() - last - 1;
  return digits >= 1 && digits <= longest_suffix ? last + 1 : std::string::npos;
}

}  // namespace

void NameTable::add(const std::string& name) {
  names_[name].taken = true;
  size_t digits = find_suffix(name);
  if (digits == std::string::npos) return;
  auto& next = names_[name.substr(0, digits - 1)].next_suffix;
  next = std::max(next, static_cast<int64_t>(std::stoll(name.substr(digits))) + 1);
}

void NameTable::follow(const std::vector<Value>& values) {
  if (values.size() < seen_) {
    names_.clear();
    seen_ = 0;
  }
  for (; seen_ < values.size(); ++seen_)
    add(values[seen_].name);
}

std::string NameTable::unique(const std::vector<Value>& values, const std::string& wanted) {
  follow(values);
  std::string name = wanted.empty()          ? "t" + std::to_string(values.size())
                     : is_value_name(wanted) ? wanted
                                             : to_identifier(wanted);
  auto found = names_.find(name);
  if (found == names_.end() || !found->second.taken) return name;
  if (is_identifier(name)) return name + "_" + std::to_string(found->second.next_suffix);
  return unique(values, "t" + name);  // digits with a suffix are no name
}

}  // namespace autoperfect
