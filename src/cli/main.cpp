// The command line: a thin face over the stages, which read and write text and so can be piped.
#include <cstdio>
#include <exception>
#include <map>

#include "cli/command.h"
#include "support/spelling.h"

namespace autoperfect::cli {

namespace {

constexpr Command commands[] = {
    {"capture", "exported function or module:function -> graph", declare_capture},
    {"check", "parse and verify a text; report every violation", declare_check},
    {"print", "print a text in its normal form", declare_print},
    {"canonicalize", "graph -> graph in normal form", declare_canonicalize},
    {"fuse", "canonical graph -> plan of regions", declare_fuse},
    {"lower", "plan -> KernelIR of its regions", declare_lower},
    {"run", "run a graph or kernel with the reference executor, or a graph with MLX", declare_run},
    {"python", "graph or kernel -> straight-line mlx.core Python; such Python -> graph", declare_python},
    {"generate", "KernelIR -> the sources the built-in generator proposes", declare_generate},
    {"prompt", "KernelIR -> what a model would be asked; sends nothing", declare_prompt},
    {"ask", "send a prompt to a model and print its answer", declare_ask},
    {"compile", "KernelIR -> binaries of those sources; for a GPU it need not be here", declare_compile},
    {"gate",
     "prove candidates of a kernel on this machine: the built-in ones, or one somebody wrote",
     declare_gate},
    {"tune", "ask a model for kernels, keep what is proved and fastest", declare_tune},
    {"explain", "program -> regions, kernels, predicted and measured, on this machine", declare_explain},
    {"cache", "what is kept on disk: ls, show, clear", declare_cache},
    {"doctor", "what this machine offers, and what runs because of it", declare_doctor},
    {"ops", "list every op: class, operands and results, attributes, MLX's primitives", declare_ops},
    {"env", "list the environment variables that are read", declare_env},
};

// CLI11 would only say that a subcommand is required.
bool is_unknown_command(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return false;
  std::vector<std::string_view> known;
  for (const auto& command : commands) {
    if (std::string_view(argv[1]) == command.name) return false;
    known.push_back(command.name);
  }
  auto near = nearest_word(argv[1], known);
  auto hint = near.empty() ? "autoperfect --help lists all commands" : "did you mean '" + near + "'?";
  std::fprintf(stderr, "autoperfect: no command is called '%s'\n  hint: %s\n", argv[1], hint.c_str());
  return true;
}

int run(int argc, char** argv) {
  if (is_unknown_command(argc, argv)) return exit_usage;
  CLI::App app("Auto-Perfect: kernels for MLX programs. Every stage reads and writes text.", "autoperfect");
  app.require_subcommand(1);
  std::map<const CLI::App*, Action> actions;
  for (const auto& command : commands) {
    auto* subcommand = app.add_subcommand(command.name, command.description);
    actions[subcommand] = command.declare(*subcommand);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_ok : exit_usage;  // --help ends here too
  }
  return actions.at(app.get_subcommands().front())();
}

}  // namespace

}  // namespace autoperfect::cli

int main(int argc, char** argv) {
  using namespace autoperfect;
  try {
    int code = cli::run(argc, argv);
    if (std::fflush(stdout) == 0) return code;
    std::perror("autoperfect: standard output");
    return code == cli::exit_ok ? cli::exit_bad_input : code;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "autoperfect: error: %s\n", error.what());
    return cli::exit_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "autoperfect: internal error: %s\n", error.what());
    return cli::exit_internal;
  }
}
