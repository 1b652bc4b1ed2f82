// Reads of each rank the innermost entry only, and learns a place when it is seen for the first
// time; see occupancy.h. A sample that falls between two stores of a rank may name the place
// before.
#include "report/watch/occupancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "report/live/path_texts.h"
#include "report/results/finish.h"
#include "report/results/record_files.h"
#include "summarize/model/profile.h"
#include "summarize/symbols/lines.h"

namespace dwell {
namespace {

constexpr uint64_t kListHolds_ns = 1'000'000'000;  // at most
constexpr uint64_t kListPartOfAge = 10;  // a new rank is found within this part of the time so far

template <typename T>
T load(const T* field) {
    return __atomic_load_n(field, __ATOMIC_RELAXED);
}

template <typename T>
const T* at(const MappedRecords& records, CellIndex cell, size_t index = 0) {
    const size_t start = size_t{cell} * kCellBytes + index * sizeof(T);
    const bool inside = cell != 0 && start + sizeof(T) <= records.bytes();
    return inside ? reinterpret_cast<const T*>(records.data() + start) : nullptr;
}

// The thread whose span is the process's.
const ThreadRecord* thread_of(const MappedRecords& records) {
    CellIndex cell = load(&records.header().first_thread);
    const ThreadRecord* first = at<ThreadRecord>(records, cell);
    for (uint32_t left = 1024; left != 0; --left) {
        const auto* thread = at<ThreadRecord>(records, cell);
        if (thread == nullptr) break;
        if (thread->number == load(&records.header().process_thread)) return thread;
        cell = load(&thread->next);
    }
    return first;
}

// The node that a thread is in now; 0: outside of all that is known.
CellIndex innermost(const MappedRecords& records, const ThreadRecord& thread) {
    const bool in_call =
        load(&thread.open_depth) != 0 && load(&thread.open.entry_ticks) > load(&thread.last_ticks);
    if (in_call) return load(&thread.open.node);
    const uint32_t depth = std::min(load(&thread.probe_depth), thread.probe_stack_entries);
    if (depth == 0) return 0;
    const auto* entry = at<ProbeEntry>(records, load(&thread.probe_stack), depth);
    return entry != nullptr ? load(&entry->node) : 0;
}

// A killed process leaves its state behind: its parent notes its end.
bool runs(const MappedRecords& records) {
    return records.bytes() != 0 && records.header().state == FileState::kRunning &&
           load(&records.header().death_ticks) == 0;
}

std::string seconds(double ns) { return fmt::format("{:.3f}", ns * 1e-9); }

template <typename T>
void add_at(std::vector<T>* figures, size_t number, T value) {
    if (figures->size() < number) figures->resize(number, T{});
    (*figures)[number - 1] += value;
}

// Highest sum first.
template <typename T>
std::string table(const std::string& title,
                  std::vector<std::pair<std::string, std::vector<T>>> rows) {
    size_t most = 0;
    for (const auto& [name, figures] : rows) most = std::max(most, figures.size());
    std::string text = title + "\nRoutine";
    for (size_t i = 1; i <= most; ++i) text += fmt::format("\t{}", i);
    text += "\n";
    const auto sum_of = [](const std::vector<T>& figures) {
        double sum = 0;
        for (size_t i = 0; i < figures.size(); ++i) {
            sum += static_cast<double>(figures[i]) * static_cast<double>(i + 1);
        }
        return sum;
    };
    std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) {
        return sum_of(a.second) > sum_of(b.second);
    });
    for (auto& [name, figures] : rows) {
        figures.resize(most, T{});
        text += name;
        for (const T figure : figures) text += "\t" + seconds(static_cast<double>(figure));
        text += "\n";
    }
    return text;
}

}  // namespace

void Occupancy::find_files(const std::string& directory) {
    for (const std::string& name : record_files(directory)) {
        const auto known = std::find_if(files_.begin(), files_.end(),
                                        [&](const File& file) { return file.name == name; });
        MappedRecords records(directory + "/" + name);
        if (records.bytes() == 0 || records.header().version != kRecordLayoutVersion) continue;
        if (known == files_.end()) {
            const FileHeader& header = records.header();
            if (host_.empty()) {
                host_ = text_in(header.host);
                job_ = text_in(header.job);
                program_ = text_in(header.program);
            }
            files_.push_back({name, std::move(records), {}});
        } else if (records.bytes() > known->records.bytes()) {  // it has grown
            known->records = std::move(records);
        }
    }
}

uint32_t Occupancy::row_of(uint32_t node, Keys* keys, Rows* rows) {
    const MergedNode& merged = merged_.nodes[node];
    const auto row = static_cast<uint32_t>(rows->size());
    const auto [found, is_new] = keys->emplace(std::pair(merged.module, merged.offset), row);
    if (is_new) rows->push_back({node, {}, {}});
    return found->second;
}

Occupancy::Place Occupancy::place_of(uint32_t node) {
    Place place;
    if (node == 0 || node >= merged_.nodes.size()) return place;
    if (merged_.nodes[node].kind == static_cast<uint8_t>(SiteKind::kCommunication)) {
        place.line = row_of(node, &line_keys_, &lines_);
        return place;
    }
    uint32_t at = node;
    while (at != 0 && merged_.nodes[at].kind != static_cast<uint8_t>(SiteKind::kProcedure)) {
        at = merged_.nodes[at].parent;
    }
    if (at != 0) place.routine = row_of(at, &routine_keys_, &routines_);
    return place;
}

// False: the rank does not run.
bool Occupancy::find_place(File* file, Place* place) {
    if (!runs(file->records)) return false;
    const ThreadRecord* thread = thread_of(file->records);
    if (thread == nullptr) return false;
    const CellIndex cell = innermost(file->records, *thread);
    *place = Place{};
    if (cell == 0) return true;
    if (const auto known = file->places.find(cell); known != file->places.end()) {
        *place = known->second;
        return true;
    }
    const uint32_t number = thread->number;
    if (!add_places(&merged_, file->records.data(), file->records.bytes())) return true;
    for (const MergedOpen& open : merged_.open) {
        if (open.thread == number) *place = place_of(open.node);
    }
    merged_.ranks = RankList();
    clear_places(&merged_);
    if (innermost(file->records, *thread) == cell) file->places[cell] = *place;
    return true;
}

void Occupancy::look(const std::string& directory, uint64_t now_ns) {
    if (first_ns_ == 0) first_ns_ = now_ns;
    const uint64_t holds_ns = std::min((now_ns - first_ns_) / kListPartOfAge, kListHolds_ns);
    if (listed_ns_ == 0 || now_ns - listed_ns_ > holds_ns) {
        find_files(directory);
        listed_ns_ = now_ns;
    }
    const uint64_t passed_ns = looked_ns_ == 0 ? 0 : now_ns - looked_ns_;
    looked_ns_ = now_ns;
    std::map<uint32_t, uint32_t> in_routines;
    std::map<uint32_t, uint32_t> in_lines;
    uint32_t unnamed = 0;
    uint32_t busy = 0;
    for (File& file : files_) {
        Place place;
        if (!find_place(&file, &place)) continue;
        if (place.line != kUnknown) {
            in_lines[place.line] += 1;
            continue;
        }
        busy += 1;
        if (place.routine != kUnknown) {
            in_routines[place.routine] += 1;
        } else {
            unnamed += 1;
        }
    }
    if (passed_ns == 0 || (busy == 0 && in_lines.empty())) return;
    samples_ += 1;
    const auto share_ns = [&](uint32_t ranks) {
        return static_cast<double>(passed_ns) * ranks / busy;
    };
    for (const auto& [row, ranks] : in_routines) {
        add_at(&routines_[row].at_once_ns, ranks, passed_ns);
        add_at(&routines_[row].ncpu_ns, busy, share_ns(ranks));
    }
    for (const auto& [row, ranks] : in_lines) add_at(&lines_[row].at_once_ns, ranks, passed_ns);
    if (unnamed == 0) return;
    add_at(&unnamed_ns_, unnamed, passed_ns);
    add_at(&unnamed_ncpu_ns_, busy, share_ns(unnamed));
}

std::string Occupancy::place(const std::string& out) const {
    return expected_profile_directory(out, program_, job_);
}

std::string Occupancy::tables() {
    LineResolver resolver;
    CallPaths paths(merged_, &resolver);
    PathTexts texts(merged_, &paths);
    std::vector<std::pair<std::string, std::vector<double>>> ncpu;
    std::vector<std::pair<std::string, std::vector<uint64_t>>> routines;
    std::vector<std::pair<std::string, std::vector<uint64_t>>> lines;
    const auto name_of = [](const std::string& name) { return name.empty() ? "<unknown>" : name; };
    for (const Row& row : routines_) {
        const std::string name = name_of(texts.procedure_of(row.node));
        if (!row.ncpu_ns.empty()) ncpu.emplace_back(name, row.ncpu_ns);
        if (!row.at_once_ns.empty()) routines.emplace_back(name, row.at_once_ns);
    }
    if (!unnamed_ns_.empty()) {
        ncpu.emplace_back("<no probe>", unnamed_ncpu_ns_);
        routines.emplace_back("<no probe>", unnamed_ns_);
    }
    for (const Row& row : lines_) {
        if (row.at_once_ns.empty()) continue;
        const std::vector<std::string>& path = texts.path_to(row.node);
        lines.emplace_back(name_of(path.empty() ? "" : path.back()), row.at_once_ns);
    }
    const std::string sampled = fmt::format(", sampled: {} samples at {} Hz, host {}, in seconds",
                                            samples_, kOccupancyHz, host_);
    return table("NCPU STATISTIC" + sampled, std::move(ncpu)) + "\n" +
           table("ROUTINE CONCURRENCY STATISTIC" + sampled, std::move(routines)) + "\n" +
           table("LINE CONCURRENCY STATISTIC" + sampled, std::move(lines));
}

}  // namespace dwell
