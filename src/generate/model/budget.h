// The bill: what a request could cost at most is set aside before it is sent, and what it did cost is kept
// after.
#pragma once

#include <mutex>
#include <string>

#include "generate/model/code_model.h"

namespace autoperfect {

class Budget {
 public:
  explicit Budget(const ModelOptions& options) : options_(options) {}

  // Sets aside the most that a question may cost; an error when that is more than is left.
  Result<double> reserve(const std::string& prompt);

  void settle(double reserved, const Reply& reply);  // by the tokens it says, or all when it says none
  void settle_unanswered(double reserved, bool billed);

 private:
  void spend(double reserved, double cost);

  ModelOptions options_;
  std::mutex mutex_;
  double spent_ = 0, reserved_ = 0;
};

}  // namespace autoperfect
