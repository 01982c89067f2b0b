// The paragraphs of a prompt.
#pragma once

#include <string>

#include "cost/target.h"
#include "ir/kernel.h"

namespace autoperfect::prompt {

std::string how_to_read(const Kernel& kernel);  // the forms this kernel uses, and no others
std::string accuracy(const Kernel& kernel);
std::string machine(const Target& target);
std::string approach(const std::string& language, int variant);

std::string bytes_text(double bytes);   // 24.0 MiB
std::string time_text(double seconds);  // 1.25 ms

}  // namespace autoperfect::prompt
