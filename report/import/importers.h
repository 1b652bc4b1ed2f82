// Reads traces into event logs.
#ifndef DWELL_REPORT_IMPORT_IMPORTERS_H_
#define DWELL_REPORT_IMPORT_IMPORTERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "report/console/output.h"
#include "report/import/imported_log.h"

namespace dwell {

struct ImportJob {
    std::string source;
    ImportedLog* log;
    std::vector<std::string> left_out{};  // lines: what a log cannot say

    void note(uint64_t count, const std::string& text) {
        if (count != 0) left_out.push_back(std::to_string(count) + " " + text);
    }
};

// An error of one line, which names the line of the trace.
Outcome import_picl(ImportJob* job);
// ASCII and binary.
Outcome import_sddf(ImportJob* job);

}  // namespace dwell

#endif  // DWELL_REPORT_IMPORT_IMPORTERS_H_
