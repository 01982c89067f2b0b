// env: every environment variable that is read, its value and its meaning.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/input.h"
#include "support/options.h"

namespace autoperfect::cli {

Action declare_env(CLI::App&) {
  return [] {
    for (const auto& row : environment_rows()) {
      write_output(fmt::format("{}={}\n    {}\n", row.name, row.value, row.meaning));
    }
    return exit_ok;
  };
}

}  // namespace autoperfect::cli
