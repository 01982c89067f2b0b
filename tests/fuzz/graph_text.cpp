// The parser of graphs: any bytes give a graph or diagnostics, and a graph prints, reads back and keeps its
// canonical text.
#include "ir/graph_text.h"

#include <cstddef>
#include <cstdint>

#include "expect.h"

using namespace autoperfect;
using fuzzing::expect;

namespace {

void check_text(const Graph& graph, Names names) {
  auto text = print(graph, names);
  auto again = parse_graph(text);
  if (!again.ok()) expect(false, "that what is printed reads back", text + format(again.errors(), text));
  expect(print(*again, names) == text, "that printing is a fixpoint", text);
  expect(
      print(*again, Names::canonical) == print(graph, Names::canonical),
      "that reading keeps the canonical text",
      text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  auto graph = parse_graph(text);
  if (!graph.ok()) {
    expect(!format(graph.errors(), text).empty(), "that a refusal has a reason", text);
    return 0;
  }
  check_text(*graph, Names::kept);
  check_text(*graph, Names::canonical);
  return 0;
}
