#include "gate/job.h"

#include <cstring>

namespace autoperfect {
namespace {

// A flat list of 64-bit integers, then the binary. Both ends are the same build, on the same machine. One
// visitor for both directions, so that they cannot disagree.
constexpr int64_t magic = 0x31424f4a5041;  // "APJOB1"

class Writer {
 public:
  void number(int64_t& value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void number(AxisId& value) {
    int64_t wide = value;
    number(wide);
  }
  void text(std::string& value) {
    auto size = static_cast<int64_t>(value.size());
    number(size);
    bytes_ += value;
  }
  template <class T>
  bool size(std::vector<T>& list) {
    auto size = static_cast<int64_t>(list.size());
    number(size);
    return true;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  void number(int64_t& value) {
    if (bytes_.size() - at_ < sizeof value) {
      good_ = false;
      value = 0;
      return;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
  }
  void number(AxisId& value) {
    int64_t wide = 0;
    number(wide);
    value = static_cast<AxisId>(wide);
  }
  void text(std::string& value) {
    int64_t size = 0;
    number(size);
    if (!take_size(size)) return;
    value = bytes_.substr(at_, static_cast<size_t>(size));
    at_ += static_cast<size_t>(size);
  }
  template <class T>
  bool size(std::vector<T>& list) {
    int64_t size = 0;
    number(size);
    if (!take_size(size)) return false;
    list.resize(static_cast<size_t>(size));
    return true;
  }
  bool complete() const { return good_ && at_ == bytes_.size(); }

 private:
  bool take_size(int64_t size) {
    good_ = good_ && size >= 0 && size <= static_cast<int64_t>(bytes_.size() - at_);
    return good_;
  }
  const std::string& bytes_;
  size_t at_ = 0;
  bool good_ = true;
};

template <class Visitor, class T, class Each>
void visit_list(Visitor& visitor, std::vector<T>& list, Each each) {
  if (!visitor.size(list)) return;
  for (auto& element : list)
    each(element);
}

template <class Visitor>
void visit_arena(Visitor& visitor, Arena& arena) {
  for (int64_t* field : {&arena.offset, &arena.size, &arena.data, &arena.bytes})
    visitor.number(*field);
}

template <class Visitor>
void visit_arenas(Visitor& visitor, std::vector<Arena>& arenas) {
  visit_list(visitor, arenas, [&](Arena& arena) { visit_arena(visitor, arena); });
}

template <class Visitor>
void visit_run(Visitor& visitor, JobRun& run) {
  for (int64_t* field : {&run.family, &run.placement, &run.poison, &run.again})
    visitor.number(*field);
  visit_list(visitor, run.chunks, [&](JobChunk& chunk) {
    for (int64_t* field : {&chunk.index, &chunk.begin, &chunk.end})
      visitor.number(*field);
  });
  visit_arenas(visitor, run.outputs);
  visit_arena(visitor, run.reached);
  visit_list(visitor, run.aliases, [&](int64_t& input) { visitor.number(input); });
}

template <class Visitor>
void visit_texts(Visitor& visitor, std::vector<std::string>& texts) {
  visit_list(visitor, texts, [&](std::string& text) { visitor.text(text); });
}

template <class Visitor>
void visit_gpu(Visitor& visitor, Job& job) {
  visitor.number(job.on_gpu);
  for (auto* sizes : {&job.launch.grid, &job.launch.block, &job.second.grid, &job.second.block})
    visit_texts(visitor, *sizes);
  visitor.text(job.second.partial_bytes);
  for (auto* outputs : {&job.second.first_outputs, &job.second.outputs})
    visit_list(visitor, *outputs, [&](int& output) { visitor.number(output); });
}

template <class Visitor>
void visit_job(Visitor& visitor, Job& job) {
  visitor.text(job.binary);
  visit_gpu(visitor, job);
  visit_list(visitor, job.launch.parallel, [&](AxisId& axis) { visitor.number(axis); });
  for (int64_t* field :
       {&job.launch.grain,
        &job.launch.align,
        &job.launch.scratch_bytes,
        &job.launch.partial_bytes,
        &job.watched,
        &job.arms,
        &job.isolation.parent,
        &job.isolation.required,
        &job.isolation.seccomp,
        &job.isolation.landlock,
        &job.isolation.guarded_state,
        &job.input_file_bytes,
        &job.output_file_bytes}) {
    visitor.number(*field);
  }
  visit_list(visitor, job.families, [&](JobFamily& family) {
    visit_list(visitor, family.dims, [&](int64_t& size) { visitor.number(size); });
    for (auto& inputs : family.inputs)
      visit_arenas(visitor, inputs);
  });
  visit_list(visitor, job.runs, [&](JobRun& run) { visit_run(visitor, run); });
}

}  // namespace

std::string encode(const Job& job) {
  Writer writer;
  int64_t head = magic;
  writer.number(head);
  visit_job(writer, const_cast<Job&>(job));  // a writer changes nothing
  return writer.take();
}

std::optional<Job> decode(const std::string& bytes) {
  Reader reader(bytes);
  int64_t head = 0;
  reader.number(head);
  if (head != magic) return std::nullopt;
  Job job;
  visit_job(reader, job);
  if (!reader.complete()) return std::nullopt;
  return job;
}

}  // namespace autoperfect
