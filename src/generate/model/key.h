// The key of a server. It is read from the environment or a private file, sent to that server, and shown
// nowhere: what comes from the server passes through redact() before it becomes part of a message, a reply or
// a recording.
#pragma once

#include <string>

#include "support/result.h"

namespace autoperfect {

// From `file`, which must be a plain file of this user that nobody else can read; from AUTOPERFECT_MODEL_KEY
// when `file` is empty. Empty: no key is set.
Result<std::string> read_key(const std::string& file);

std::string redact(std::string text, const std::string& key);

}  // namespace autoperfect
