// A job in the helper process: a cubin on the families' inputs, in memory of the GPU.
#pragma once

#include "compile/cuda/device.h"
#include "gate/job.h"

namespace autoperfect {

inline constexpr size_t gpu_job_files =
    3;  // descriptors that come with one: the job, its inputs, its outputs

// What happened is in the report, the first page of the outputs. False: the GPU is of no use any more to this
// process.
bool run_gpu_job(const Job& job, int input_file, int output_file);

}  // namespace autoperfect
