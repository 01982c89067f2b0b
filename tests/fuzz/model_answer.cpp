// What servers send: any bytes are an answer or a reason, the same in whatever pieces they come, and what is
// taken out of an answer is text.
#include <cstddef>
#include <cstdint>
#include <string>

#include "expect.h"
#include "generate/model/extract.h"
#include "generate/model/json.h"
#include "generate/model/wire.h"

using namespace autoperfect;
using fuzzing::expect;

namespace {

Result<Reply> read_in_pieces(WireForm form, bool events, std::string_view bytes, size_t piece) {
  AnswerReader reader(form, events);
  for (size_t at = 0; at < bytes.size() && reader.feed(bytes.substr(at, piece));)
    at += piece;
  return reader.finish();
}

void check_draft(const Reply& reply) {
  auto draft = extract("cpu", reply);
  if (!draft) {
    expect(!format(draft.errors(), reply.text).empty(), "that a refusal has a reason", reply.text);
    return;
  }
  expect(is_utf8(draft->source), "that a draft is UTF-8", reply.text);
  expect(draft->source.find('\0') == std::string::npos, "that a draft has no zero", reply.text);
  expect(draft->source.size() <= reply.text.size() + 1, "that a draft is part of its reply", reply.text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  auto form = data[0] & 1 ? WireForm::messages : WireForm::chat_completions;
  bool events = data[0] & 2;
  size_t piece = data[1] + 1;
  std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  auto whole = read_in_pieces(form, events, bytes, bytes.size() + 1);
  auto parts = read_in_pieces(form, events, bytes, piece);
  expect(whole.ok() == parts.ok(), "that pieces do not matter", bytes);
  if (whole) {
    expect(whole->text == parts->text && !whole->text.empty(), "that pieces make the same text", bytes);
    check_draft(*whole);
  }
  check_draft({bytes, "stop", "", 0, 0});
  return 0;
}
