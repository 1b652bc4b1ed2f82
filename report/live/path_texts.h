// Paths of merged nodes as lines to read: procedures with the lines of their calls, statements.
#ifndef DWELL_REPORT_LIVE_PATH_TEXTS_H_
#define DWELL_REPORT_LIVE_PATH_TEXTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "summarize/attribution/call_paths.h"

namespace dwell {

// "heat.c:30"; the file alone without a line.
std::string place_text(const std::string& file, int line);

class PathTexts {
  public:
    // Both must live as long as this object.
    PathTexts(const Merged& merged, CallPaths* paths) : merged_(merged), paths_(*paths) {}

    // "main", "step heat.c:30", "MPI_Recv heat.c:8": outermost first.
    const std::vector<std::string>& path_to(uint32_t node);
    // The name of the innermost procedure; empty if there is none.
    std::string procedure_of(uint32_t node);

  private:
    std::vector<std::string> make(uint32_t node);

    const Merged& merged_;
    CallPaths& paths_;
    std::map<uint32_t, std::vector<std::string>> known_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_PATH_TEXTS_H_
