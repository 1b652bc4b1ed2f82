// Names places from the call paths of their nodes; see timeline_parts.h.
#include "report/events/timeline_parts.h"

#include <algorithm>

namespace dwell {

TimelinePlace Timeline::Names::make(uint32_t node) {
    if (!paths) {
        resolver.emplace();
        paths.emplace(merged, &*resolver);
    }
    EventPlace place = place_of_node(merged, &*paths, node);
    if (place.kind == SiteKind::kSample)
        place_sample(merged.nodes[node], paths->path_to(node), &place);
    return place;
}

// The procedure and line. Without a known path, as the address alone has them.
void Timeline::Names::place_sample(const MergedNode& sample, const std::vector<Step>& path,
                                   TimelinePlace* place) {
    place->name = "sample";
    const auto procedure = std::find_if(path.rbegin(), path.rend(), [](const Step& step) {
        return step.kind == SiteKind::kProcedure && step.number != kNoNode;
    });
    const bool has_line =
        !path.empty() && path.back().kind == SiteKind::kSample && path.back().number != kNoNode;
    if (has_line && procedure != path.rend()) {
        place->name = paths->procedure(procedure->number).name;
        const Statement& statement = paths->statement(path.back().number);
        place->file = statement.file;
        place->line = statement.line;
    } else if (sample.module < merged.modules.size() && (sample.flags & kNodeFolded) == 0) {
        const SourceFrame& frame = resolver->resolve(sample.module, sample.offset).frames.back();
        place->name = frame.function;
        place->file = frame.file;
        place->line = frame.line;
    }
    if (!place->file.empty()) place->where = place_text(place->file, place->line);
}

}  // namespace dwell
