#include "generate/model/budget.h"

#include <fmt/format.h>

namespace autoperfect {

namespace {

constexpr double template_tokens = 256;  // what a server puts around a prompt

}  // namespace

Result<double> Budget::reserve(const std::string& prompt) {
  // A token is a byte at least.
  double most = (static_cast<double>(prompt.size()) + template_tokens) * options_.prompt_price / 1e6 +
                static_cast<double>(options_.max_tokens) * options_.completion_price / 1e6;
  std::lock_guard lock(mutex_);
  if (options_.spending_limit > 0 && spent_ + reserved_ + most > options_.spending_limit) {
    return Diagnostic{
        "model",
        "spending-limit",
        fmt::format(
            "this request could cost {:.4f}, and {:.4f} of the limit of {:.4f} is spent or set aside: not "
            "sent",
            most,
            spent_ + reserved_,
            options_.spending_limit),
        {},
        "raise spending_limit, or lower max_tokens"};
  }
  reserved_ += most;
  return most;
}

void Budget::settle(double reserved, const Reply& reply) {
  bool told = reply.prompt_tokens > 0 || reply.completion_tokens > 0;
  double cost = static_cast<double>(reply.prompt_tokens) * options_.prompt_price / 1e6 +
                static_cast<double>(reply.completion_tokens) * options_.completion_price / 1e6;
  spend(reserved, told ? cost : reserved);
}

void Budget::settle_unanswered(double reserved, bool billed) {
  spend(reserved, billed ? reserved : 0);
}

void Budget::spend(double reserved, double cost) {
  std::lock_guard lock(mutex_);
  reserved_ -= reserved;
  spent_ += cost;
}

}  // namespace autoperfect
