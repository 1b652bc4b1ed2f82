// Writes paths as texts; see path_texts.h.
#include "report/live/path_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/figures/names.h"
#include "summarize/model/statement_names.h"

namespace dwell {
namespace {

std::string key_of(const std::string& path, const std::string& build_id) {
    return build_id + "\n" + path;
}

}  // namespace

// Processes list their modules in the order in which they found them, and find more as they go on.
LineResolver* KnownLines::of(const Merged& merged) {
    std::vector<std::string> modules;
    for (const MergedModule& module : merged.modules) {
        const std::string build_id(reinterpret_cast<const char*>(module.build_id),
                                   module.build_id_bytes);
        modules.push_back(key_of(merged.text.data() + module.path, build_id));
    }
    const bool goes_on = lines_ != nullptr && modules_.size() <= modules.size() &&
                         std::equal(modules_.begin(), modules_.end(), modules.begin());
    if (!goes_on) lines_ = std::make_unique<LineResolver>();
    modules_ = std::move(modules);
    return lines_.get();
}

const ResolvedAddress& KnownLines::call_in(const std::string& path, const std::string& build_id,
                                           uint64_t offset) {
    const std::string key = key_of(path, build_id);
    auto known = numbers_.find(key);
    if (known == numbers_.end())
        known = numbers_.emplace(key, apart_.add_module(path, build_id)).first;
    return apart_.resolve_call(known->second, offset);
}

std::string place_text(const std::string& file, int line) {
    const std::string name = file.substr(file.rfind('/') + 1);
    return line == 0 ? name : fmt::format("{}:{}", name, line);
}

const std::vector<std::string>& PathTexts::path_to(uint32_t node) {
    const auto known = known_.find(node);
    return known != known_.end() ? known->second : known_.emplace(node, make(node)).first->second;
}

std::string PathTexts::procedure_of(uint32_t node) {
    std::string name;
    if (node >= merged_.nodes.size() || node == 0) return name;
    for (const Step& step : paths_.path_to(node)) {
        if (step.kind == SiteKind::kProcedure) {
            name = short_name(paths_.procedure(step.number).name, true);
        }
    }
    return name;
}

// Each procedure with the line of its call.
std::vector<std::string> PathTexts::make(uint32_t node) {
    std::vector<std::string> texts;
    if (node >= merged_.nodes.size() || node == 0) return texts;
    std::string called_at;
    for (const Step& step : paths_.path_to(node)) {
        if (step.kind == SiteKind::kCall) {
            const Statement& statement = paths_.statement(step.number);
            called_at = " " + place_text(statement.file, statement.line);
            continue;
        }
        if (step.kind == SiteKind::kProcedure) {
            texts.push_back(short_name(paths_.procedure(step.number).name, true) + called_at);
        } else if (step.kind == SiteKind::kCommunication || step.kind == SiteKind::kIo) {
            const char* name = statement_name(step.kind, merged_.nodes[node].call);
            std::string place;
            if (step.number != kNoNode) {
                const Statement& statement = paths_.statement(step.number);
                place = " " + place_text(statement.file, statement.line);
            }
            texts.push_back(name + place);
        } else if (step.kind != SiteKind::kSample) {
            const Region& region = paths_.region(step.number);
            texts.push_back(region.name + " " + place_text(region.file, region.line));
        }
        called_at.clear();
    }
    return texts;
}

}  // namespace dwell
