// Unique names for the values of a graph in constant time each. The table is derived from the values and
// follows them when asked, so a graph stays plain data: code that appends values directly need not know of
// it, and a copied graph starts with an empty one. Code that renames a value puts an empty one in its place.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace autoperfect {

struct Value;

class NameTable {
 public:
  NameTable() = default;
  NameTable(const NameTable&) {}
  NameTable& operator=(const NameTable&) {
    names_.clear();
    seen_ = 0;
    return *this;
  }
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;

  // `wanted` made a name no value has: x, or with the first suffix after all that are taken, x_1, x_2... An
  // empty one becomes t<number of values>. Names that values got since the last question count; a name once
  // seen stays taken.
  std::string unique(const std::vector<Value>& values, const std::string& wanted);

 private:
  struct Entry {
    bool taken = false;
    int64_t next_suffix = 1;
  };
  void follow(const std::vector<Value>& values);
  void add(const std::string& name);

  std::unordered_map<std::string, Entry> names_;
  size_t seen_ = 0;  // values whose names are in the table
};

}  // namespace autoperfect
