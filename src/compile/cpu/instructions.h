// The machine code of a kernel, instruction by instruction, on x86-64: nothing that reaches the system or the
// clock, and no way to run bytes that are not the beginning of an instruction decoded here. So what is hidden
// in constants stays data.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace autoperfect {

class CodeCheck {
 public:
  // `is_got`: whether indirect calls may go through the word at this address, which only the loader fills.
  explicit CodeCheck(std::function<bool(uint64_t address)> is_got) : is_got_(std::move(is_got)) {}

  // One section. Empty, or what is wrong with it.
  std::string add(std::string_view code, uint64_t address);
  // After all of them: a branch to what is no instruction.
  std::string find_bad_branch() const;

 private:
  std::function<bool(uint64_t)> is_got_;
  std::set<uint64_t> begins_, targets_;
};

}  // namespace autoperfect
