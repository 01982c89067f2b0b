#include "generate/model/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "generate/model/json.h"

namespace autoperfect {

namespace {

constexpr std::string_view thinking_begins = "<think>", thinking_ends = "</think>";
constexpr size_t fewest_ticks = 3;

struct Block {
  int line = 0;  // of its opening fence, in the reply
  std::string text;
  bool closed = false;
};

Diagnostic failure(const char* code, std::string message, int line = 0, std::string hint = "") {
  return {"extract", code, std::move(message), Where{line, line > 0 ? 1 : 0}, std::move(hint)};
}

// How many ticks or tildes a line begins with, when that makes it a fence.
size_t fence_length(std::string_view line) {
  size_t indent = line.find_first_not_of(' ');
  if (indent == std::string_view::npos || indent > 3) return 0;
  line.remove_prefix(indent);
  if (line[0] != '`' && line[0] != '~') return 0;
  size_t length = std::min(line.find_first_not_of(line[0]), line.size());
  if (length < fewest_ticks) return 0;
  // ```x``` on one line is code within a sentence.
  return line[0] == '`' && line.find('`', length) != std::string_view::npos ? 0 : length;
}

bool closes(std::string_view line, char mark, size_t length) {
  size_t indent = line.find_first_not_of(' ');
  if (fence_length(line) < length || line[indent] != mark) return false;
  return line.find_first_not_of(" \t", line.find_last_of(mark) + 1) == std::string_view::npos;
}

std::vector<Block> blocks_of(std::string_view text, int line) {
  std::vector<Block> blocks;
  char mark = 0;
  size_t length = 0;
  for (size_t begin = 0; begin < text.size(); ++line) {
    size_t end = std::min(text.find('\n', begin), text.size());
    auto row = text.substr(begin, end - begin);
    if (!row.empty() && row.back() == '\r') row.remove_suffix(1);
    begin = end + 1;
    bool inside = !blocks.empty() && !blocks.back().closed;
    if (!inside) {
      length = fence_length(row);
      if (length == 0) continue;
      mark = row[row.find_first_not_of(' ')];
      blocks.push_back({line, {}, false});
    } else if (closes(row, mark, length)) {
      blocks.back().closed = true;
    } else {
      blocks.back().text.append(row) += '\n';
    }
  }
  return blocks;
}

}  // namespace

Result<Draft> extract(const std::string& language, const Reply& reply) {
  constexpr const char* one_block =
      "the reply must hold exactly one block between ``` lines: the complete code";
  std::string_view text = reply.text;
  if (!is_utf8(text)) return failure("not-utf8", "the reply is not UTF-8");
  if (text.find('\0') != std::string_view::npos) return failure("zero-byte", "the reply has a zero byte");
  int line = 1;
  size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text.substr(start, thinking_begins.size()) == thinking_begins) {
    size_t end = text.find(thinking_ends);
    if (end == std::string_view::npos)
      return failure("cut-reply", "the reply ends while still thinking", 0, "give the answer sooner");
    end += thinking_ends.size();
    line += static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    text.remove_prefix(end);
  }
  auto blocks = blocks_of(text, line);
  if (reply.finish_reason == "length")
    return failure(
        "cut-reply", "the reply was cut at the token limit", 0, "answer with the block alone, and shorter");
  if (blocks.empty()) return failure("no-block", "the reply has no fenced block", 0, one_block);
  if (!blocks.back().closed)
    return failure(
        "open-block", "the fenced block that begins here does not end", blocks.back().line, one_block);
  if (blocks.size() > 1) {
    return failure(
        "many-blocks",
        fmt::format("the reply has {} fenced blocks; the second begins here", blocks.size()),
        blocks[1].line,
        one_block);
  }
  if (blocks[0].text.find_first_not_of(" \t\n") == std::string::npos)
    return failure("empty-block", "the fenced block is empty", blocks[0].line, one_block);
  return Draft{language, std::move(blocks[0].text)};
}

}  // namespace autoperfect
