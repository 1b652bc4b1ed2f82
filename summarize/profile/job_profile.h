// The parts of a profile that describe the job: its ranks, threads and process grids.
#ifndef DWELL_SUMMARIZE_PROFILE_JOB_PROFILE_H_
#define DWELL_SUMMARIZE_PROFILE_JOB_PROFILE_H_

#include "summarize/merge/merged.h"
#include "summarize/model/profile.h"

namespace dwell {

void add_job(const Merged& merged, Profile* profile);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_JOB_PROFILE_H_
