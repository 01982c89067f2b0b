// run: a graph or a kernel on given inputs, with the reference executor or with MLX's own operations.
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/npy.h"
#include "cli/run_mlx.h"
#include "ir/attribute_text.h"
#include "ir/shape.h"
#include "reference/reference.h"
#include "support/number.h"

namespace autoperfect::cli {

namespace {

struct Options {
  std::string path;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> data;
  bool oracle = false;
  bool mlx = false;
};

struct Port {
  std::string name;
  TensorType type;
  std::vector<std::string> dynamic = {};  // per dimension the axis that is its size, or empty
};

struct Ports {
  std::vector<Port> inputs, outputs;
};

Ports ports_of(const Graph& graph) {
  Ports ports;
  for (const auto& input : graph.inputs) {
    ports.inputs.push_back({graph.values[input.value].name, graph.type(input.value)});
  }
  for (auto output : graph.outputs)
    ports.outputs.push_back({graph.values[output].name, graph.type(output)});
  return ports;
}

Ports ports_of(const Kernel& kernel) {
  Ports ports;
  for (const auto& buffer : kernel.buffers) {
    Port port{buffer.name, buffer.type};
    for (auto axis : buffer.dynamic_dims)
      port.dynamic.push_back(axis < 0 ? "" : kernel.axes[axis].name);
    if (buffer.role == BufferRole::temp) continue;
    (buffer.role == BufferRole::in ? ports.inputs : ports.outputs).push_back(std::move(port));
  }
  return ports;
}

bool is_dynamic(const Port& port, size_t d) {
  return d < port.dynamic.size() && !port.dynamic[d].empty();
}

// "%x: f32[?i,8]"
std::string describe(const Port& port) {
  std::vector<std::string> sizes;
  for (size_t d = 0; d < port.type.shape.size(); ++d)
    sizes.push_back(is_dynamic(port, d) ? "?" + port.dynamic[d] : std::to_string(port.type.shape[d]));
  return fmt::format("%{}: {}[{}]", port.name, name(port.type.dtype), fmt::join(sizes, ","));
}

std::string describe(const std::vector<Port>& ports) {
  std::string text;
  for (const auto& port : ports)
    text += " " + describe(port);
  return text;
}

// "1, 2, -inf" or "true, false", in row-major order.
std::optional<std::vector<double>> parse_numbers(const std::string& text) {
  TextReader reader(text, "cli");
  std::vector<double> numbers;
  while (!reader.at(TokenKind::end_of_text)) {
    if (!numbers.empty() && !reader.take(",")) return std::nullopt;
    if (reader.at("true") || reader.at("false")) {
      numbers.push_back(reader.next().text == "true");
      continue;
    }
    auto number = parse_double(reader);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

Result<Tensor> parse_data(const std::string& text, const Port& port) {
  auto numbers = parse_numbers(text);
  if (!numbers) {
    auto message = fmt::format("'{}' is no list of numbers for %{}", text, port.name);
    return Diagnostic{"cli", "data", message, {}, "such as --data \"1, 2.5, -inf\""};
  }
  if (static_cast<int64_t>(numbers->size()) != port.type.elements()) {
    auto message = fmt::format("{} numbers for {}", numbers->size(), describe(port));
    return Diagnostic{"cli", "data-size", message};
  }
  return Tensor::of(port.type, *numbers);
}

Result<Tensor> read_tensor(const std::string& path, const Port& port) {
  auto tensor = read_npy(path, port.type.dtype);
  if (!tensor) return tensor.errors();
  const auto& shape = tensor->type.shape;
  bool fits = shape.size() == port.type.shape.size();
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = is_dynamic(port, d) || shape[d] == port.type.shape[d];
  if (fits) return tensor;
  auto message =
      fmt::format("'{}' is {}, the program takes {}", path, to_string(tensor->type), describe(port));
  return Diagnostic{"cli", "input-shape", message, {}, "files are given in the order of the inputs"};
}

Result<std::vector<Tensor>> read_inputs(const Options& options, const std::vector<Port>& ports) {
  bool inline_data = !options.data.empty();
  const auto& given = inline_data ? options.data : options.inputs;
  if (given.size() != ports.size()) {
    auto message = fmt::format("{} inputs are given, the program has {}", given.size(), ports.size());
    auto hint = ports.empty() ? std::string("it takes none") : "in order:" + describe(ports);
    return Diagnostic{"cli", "input-count", message, {}, hint};
  }
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < ports.size(); ++i) {
    auto tensor = inline_data ? parse_data(given[i], ports[i]) : read_tensor(given[i], ports[i]);
    if (!tensor) return tensor.errors();
    tensors.push_back(std::move(tensor).value());
  }
  return tensors;
}

std::string element_text(const Tensor& tensor, int64_t i) {
  auto dtype = tensor.type.dtype;
  if (dtype == Dtype::bool_) return tensor.integer_at(i) != 0 ? "true" : "false";
  if (dtype == Dtype::u64) return std::to_string(static_cast<uint64_t>(tensor.integer_at(i)));
  if (dtype == Dtype::c64) {
    float parts[2];
    std::memcpy(parts, tensor.bytes.data() + i * sizeof(parts), sizeof(parts));
    return fmt::format("({}, {})", format_single(parts[0]), format_single(parts[1]));
  }
  if (is_integer(dtype)) return std::to_string(tensor.integer_at(i));
  if (dtype != Dtype::f32) return format_number(tensor.at(i));
  return format_single(static_cast<float>(tensor.at(i)));
}

std::string to_text(const Port& port, const Tensor& tensor) {
  auto text = fmt::format("%{}: {} = [", port.name, to_string(tensor.type));
  int64_t count = tensor.type.elements();
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += element_text(tensor, i);
  }
  return text + "]\n";
}

Status write_outputs(
    const Options& options, const std::vector<Port>& ports, const std::vector<Tensor>& tensors) {
  if (!options.outputs.empty() && options.outputs.size() != ports.size()) {
    auto message = fmt::format("{} files for {} outputs", options.outputs.size(), ports.size());
    return Diagnostic{"cli", "output-count", message, {}, "in order:" + describe(ports)};
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    if (options.outputs.empty()) {
      write_output(to_text(ports[i], tensors[i]));
      continue;
    }
    auto status = write_npy(options.outputs[i], tensors[i]);
    if (!status) return status;
  }
  return Success{};
}

using Tensors = Result<std::vector<Tensor>>;

Precision precision_of(const Options& options) {
  return options.oracle ? Precision::oracle : Precision::exact;
}

Tensors run(const Options& options, const Graph& graph, const std::vector<Tensor>& inputs) {
  return options.mlx ? run_mlx(graph, inputs) : run_reference(graph, inputs, precision_of(options));
}

Tensors run(const Options& options, const Kernel& kernel, const std::vector<Tensor>& inputs) {
  if (options.mlx) return Diagnostic{"cli", "not-a-graph", "only graphs run with MLX's operations"};
  return run_reference(kernel, inputs, precision_of(options));
}

template <class AnyIr>
Status run_program(const Options& options, const AnyIr& program) {
  auto ports = ports_of(program);
  auto inputs = read_inputs(options, ports.inputs);
  if (!inputs) return inputs.errors();
  auto outputs = run(options, program, *inputs);
  if (!outputs) return outputs.errors();
  return write_outputs(options, ports.outputs, *outputs);
}

Status run_parsed(const Options& options, const ParsedText& parsed) {
  if (auto* kernel = std::get_if<Kernel>(&parsed)) return run_program(options, *kernel);
  if (auto* graph = std::get_if<Graph>(&parsed)) return run_program(options, *graph);
  return run_program(options, std::get<PlannedGraph>(parsed).graph);
}

}  // namespace

Action declare_run(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_input_option(app, options->path);
  auto* files = app.add_option("--inputs", options->inputs, ".npy files, one an input, in order");
  app.add_option(
         "--data", options->data, "instead: the numbers of one input, \"1, 2, 3\"; repeat for each input")
      ->excludes(files)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option(
      "--outputs", options->outputs, ".npy files to write, one an output; otherwise values are printed");
  auto* oracle =
      app.add_flag("--oracle", options->oracle, "compute in double instead of rounding as MLX does");
  app.add_flag("--mlx", options->mlx, "run a graph with MLX's own operations, whatever they are")
      ->excludes(oracle);
  app.footer(
      "Files are what np.save and mx.save write, of the dtype of the input. NumPy has no bf16: it reads such "
      "a file as\n"
      "two-byte voids, whose bits are x.view(np.uint16); mx.load reads it as bfloat16. With --oracle, floats "
      "are written\n"
      "as f64. Sizes of dynamic axes (?i) are those of the inputs.\n\n"
      "  autoperfect run kernel.ap --inputs x.npy w.npy --outputs y.npy\n"
      "  autoperfect run kernel.ap --data \"1, 2, 3\" --data \"0.5\"");
  return [options] {
    return with_parsed<ParsedText>(
        options->path, parse_any, [&](ParsedText parsed) { return run_parsed(*options, parsed); });
  };
}

}  // namespace autoperfect::cli
