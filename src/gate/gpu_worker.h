// The helper process that runs candidates on the GPU. It stays from one candidate to the next, because a
// context takes longer than a proof; after a kernel went wrong nothing works in it any more, and another
// takes its place.
#pragma once

#include "gate/worker_process.h"

namespace autoperfect {

inline constexpr const char* gpu_mode = "gpu";

// As run_worker_process, for jobs with `on_gpu`.
Result<WorkerOutcome> run_gpu_worker(const WorkerTask& task);

// The process and its memory on the GPU are given back; the next job starts another.
void end_gpu_worker();

// What the helper program does with the number of its socket: jobs until the other end is closed.
int serve_gpu_jobs(int socket, pid_t parent);

}  // namespace autoperfect
