// The draft in a reply: exactly one fenced block, whatever stands around it. What is wrong otherwise goes
// back to the model as evidence.
#pragma once

#include "generate/language/language.h"
#include "generate/model/code_model.h"

namespace autoperfect {

// What a model thinks aloud first, between <think> and </think>, is not part of the answer.
Result<Draft> extract(const std::string& language, const Reply& reply);

}  // namespace autoperfect
