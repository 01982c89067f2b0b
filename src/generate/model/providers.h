// The providers behind open_model(), and what it puts around them.
#pragma once

#include "generate/model/code_model.h"

namespace autoperfect {

using ModelResult = Result<std::shared_ptr<CodeModel>>;

ModelResult open_http(const std::string& spec, const ModelOptions& options);
ModelResult open_command(const std::string& command, const ModelOptions& options);
ModelResult open_folder(const std::string& path, const ModelOptions& options);
ModelResult open_replay(const std::string& path);

// Writes a recording of every reply; a reply that cannot be recorded is an error.
ModelResult recorded(std::shared_ptr<CodeModel> model, const ModelOptions& options);

}  // namespace autoperfect
