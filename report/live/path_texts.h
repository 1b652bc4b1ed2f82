// Paths of merged nodes as lines to read: procedures with the lines of their calls, statements.
#ifndef DWELL_REPORT_LIVE_PATH_TEXTS_H_
#define DWELL_REPORT_LIVE_PATH_TEXTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "summarize/attribution/call_paths.h"
#include "summarize/symbols/lines.h"

namespace dwell {

// "heat.c:30"; the file alone without a line.
std::string place_text(const std::string& file, int line);

// Lines that one reading of a job has resolved, for the next ones.
class KnownLines {
  public:
    // For addresses in the modules of `merged`, by their numbers there. Valid until the next call.
    LineResolver* of(const Merged& merged);
    // An address in a file that `merged` may not have: place and line.
    const ResolvedAddress& call_in(const std::string& path, const std::string& build_id,
                                   uint64_t offset);
    LineResolver* apart() { return &apart_; }

  private:
    std::unique_ptr<LineResolver> lines_;
    std::vector<std::string> modules_;  // that lines_ knows, in their order
    LineResolver apart_;
    std::map<std::string, uint32_t> numbers_;  // in apart_
};

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
