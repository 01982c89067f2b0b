#include "ir/attribute.h"

#include <algorithm>

#include "support/result.h"

namespace autoperfect {

namespace {

template <class Entries>
auto find_place(Entries& entries, const std::string& name) {
  return std::lower_bound(
      entries.begin(), entries.end(), name, [](const auto& entry, const auto& n) { return entry.first < n; });
}

}  // namespace

void Attributes::set(const std::string& name, AttributeValue value) {
  auto place = find_place(entries_, name);
  if (place != entries_.end() && place->first == name) {
    place->second = std::move(value);
  } else {
    entries_.emplace(place, name, std::move(value));
  }
}

void Attributes::erase(const std::string& name) {
  auto place = find_place(entries_, name);
  if (place != entries_.end() && place->first == name) entries_.erase(place);
}

const AttributeValue* Attributes::find(const std::string& name) const {
  auto place = find_place(entries_, name);
  return place != entries_.end() && place->first == name ? &place->second : nullptr;
}

void missing_attribute(const std::string& name) {
  throw InternalError("[ir] attribute '" + name + "' is absent or of another type");
}

}  // namespace autoperfect
