// The cells that a log holds, as they were at some moment, become a record file.
#include <algorithm>
#include <cstring>

#include "summarize/events/event_log.h"

namespace dwell {
namespace {

class Linker {
  public:
    explicit Linker(LogProcess* process)
        : process_(*process), cells_(static_cast<CellIndex>(process->cells.size() / kCellBytes)) {}

    void link() {
        link_list(CellUse::kModule, &process_.header.first_module, &ModuleRecord::next);
        link_list(CellUse::kThread, &process_.header.first_thread, &ThreadRecord::next);
        for (const CellIndex cell : process_.used[static_cast<int>(CellUse::kThread)]) {
            if (auto* thread = at<ThreadRecord>(cell)) clear(thread);
        }
        const auto& nodes = process_.used[static_cast<int>(CellUse::kNode)];
        for (const CellIndex cell : nodes) {
            auto* node = at<Node>(cell);
            if (node == nullptr) continue;
            node->first_child = node->next_sibling = 0;
            node->count = 1;  // a node without entries may be left out
            node->ticks = node->min_ticks = node->max_ticks = 0;
            node->site.open = 0;
        }
        for (const CellIndex cell : nodes) {
            auto* node = at<Node>(cell);
            auto* parent = node != nullptr ? at<Node>(node->parent) : nullptr;
            if (parent == nullptr || node->site.kind == SiteKind::kProgram) continue;
            node->next_sibling = parent->first_child;
            parent->first_child = cell;
        }
        clear(&process_.header);
    }

  private:
    template <typename T>
    T* at(CellIndex cell) {
        constexpr auto kCells = static_cast<CellIndex>((sizeof(T) + kCellBytes - 1) / kCellBytes);
        if (cell < kHeaderCells || cell >= cells_ || cells_ - cell < kCells) return nullptr;
        return reinterpret_cast<T*>(process_.cells.data() + size_t{cell} * kCellBytes);
    }
    template <typename T>
    void link_list(CellUse use, CellIndex* first, CellIndex T::*next) {
        *first = 0;
        const auto& used = process_.used[static_cast<int>(use)];
        for (auto cell = used.rbegin(); cell != used.rend(); ++cell) {
            T* const record = at<T>(*cell);
            if (record == nullptr) continue;
            record->*next = *first;
            *first = *cell;
        }
    }
    static void clear(ThreadRecord* thread) {
        thread->first_cause = thread->first_metric = thread->first_stall = 0;
        thread->probe_stack = 0;
        thread->probe_depth = thread->open_depth = thread->probe_stack_entries = 0;
        thread->axis = TimeAxis{};
        thread->state = ThreadState::kEnded;
    }
    bool has_text(CellIndex cell) const {
        const auto& texts = process_.used[static_cast<int>(CellUse::kText)];
        return std::find(texts.begin(), texts.end(), cell) != texts.end();
    }
    void clear(FileHeader* header) const {
        header->first_text = header->first_grid = header->first_off_site = 0;
        header->first_comm = header->first_requests = header->start_directory = 0;
        header->metrics_missing = 0;
        if (!has_text(header->metric_names)) header->metric_names = 0;
        header->cells_used = header->cells_reserved = cells_;
    }

    LogProcess& process_;
    CellIndex cells_;
};

}  // namespace

void link_cells(LogProcess* process) {
    if (!process->cells.resize(sizeof process->header)) return;
    Linker(process).link();
    memcpy(process->cells.data(), &process->header, sizeof process->header);
}

}  // namespace dwell
