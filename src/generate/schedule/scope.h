// One vector of elements (or the values of one unit) being written: what already has a name in it.
#pragma once

#include <map>
#include <string>

namespace autoperfect::schedule {

inline std::string indent(int depth) {
  return std::string(2 * depth, ' ');
}
inline std::string id(const char* letter, int number) {
  return letter + std::to_string(number);
}
constexpr int partial_slot = 128;  // bytes of one vector of the widest element

struct Scope {
  int sweep;
  bool tail;
  int depth;
  std::map<int, std::string> values = {}, loads = {};
  std::string text = {};

  void statement(const std::string& line) { text += indent(depth) + line + "\n"; }
  std::string define(const std::string& name, const std::string& expression) {
    statement("const auto " + name + " = " + expression + ";");
    return name;
  }
};

}  // namespace autoperfect::schedule
