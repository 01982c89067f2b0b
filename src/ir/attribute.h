// Attributes of an op: a small sorted list of (name, value). Printed as `name=value`, sorted by name.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ir/dtype.h"

namespace autoperfect {

// bool: true/false. int64: 3. double: shortest round trip with a '.', an exponent, inf, nan or -0.
// string: "quoted". vector: [1, 2, 3]. Dtype: its name.
using AttributeValue =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, Dtype>;

class Attributes {
 public:
  void set(const std::string& name, AttributeValue value);  // replaces; keeps names sorted
  void erase(const std::string& name);
  const AttributeValue* find(const std::string& name) const;
  bool has(const std::string& name) const { return find(name) != nullptr; }

  // The value as T; throws InternalError when it is absent or of another type (the verifier ran before).
  template <class T>
  const T& get(const std::string& name) const;
  template <class T>
  T get_or(const std::string& name, T otherwise) const;

  bool operator==(const Attributes&) const = default;
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }

 private:
  std::vector<std::pair<std::string, AttributeValue>> entries_;
};

[[noreturn]] void missing_attribute(const std::string& name);

template <class T>
const T& Attributes::get(const std::string& name) const {
  auto* value = find(name);
  auto* typed = value ? std::get_if<T>(value) : nullptr;
  if (!typed) missing_attribute(name);
  return *typed;
}

template <class T>
T Attributes::get_or(const std::string& name, T otherwise) const {
  auto* value = find(name);
  auto* typed = value ? std::get_if<T>(value) : nullptr;
  return typed ? *typed : otherwise;
}

}  // namespace autoperfect
