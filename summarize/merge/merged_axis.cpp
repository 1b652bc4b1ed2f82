// Widens and adds the bins of time axes.
#include "summarize/merge/merged_axis.h"

#include <algorithm>

namespace dwell {
namespace {

// Majority vote, as weigh() in thread_parts.h.
template <typename Into>
void vote(uint32_t phase, uint64_t weight, Into* into) {
    if (into->phase == phase) {
        into->phase_weight += weight;
    } else if (into->phase_weight >= weight) {
        into->phase_weight -= weight;
    } else {
        into->phase = phase;
        into->phase_weight = weight - into->phase_weight;
    }
}

// Items with the same key become one, where `together` adds the second to the first.
template <typename Item, typename Same, typename Together>
void fold(GrowArray<Item>* items, uint32_t by, Same same, Together together) {
    size_t kept = 0;
    for (size_t i = 0; i < items->size(); i++) {
        Item item = (*items)[i];
        item.bin = by < kAxisShiftLimit ? item.bin >> by : 0;
        if (kept != 0 && same((*items)[kept - 1], item)) {
            together(item, &(*items)[kept - 1]);
        } else {
            (*items)[kept++] = item;
        }
    }
    items->resize(kept);
}

// Of the same ranks at other times: a rank's figures are at least the sum of the least ones. Exact
// where the rows are still there.
void add_time(const MergedAxisBin& from, MergedAxisBin* into) {
    add_figures(from.sum, &into->sum);
    add_figures(from.least, &into->least);
    add_figures(from.most, &into->most);
    into->ranks = std::max(into->ranks, from.ranks);
    vote(from.phase, from.phase_weight, into);
}

// Of other ranks at the same time.
void add_ranks(const MergedAxisBin& from, MergedAxisBin* into) {
    add_figures(from.sum, &into->sum);
    for (uint64_t AxisFigures::*figure : kAxisFigures) {
        into->least.*figure = std::min(into->least.*figure, from.least.*figure);
        into->most.*figure = std::max(into->most.*figure, from.most.*figure);
    }
    into->ranks += from.ranks;
    vote(from.phase, from.phase_weight, into);
}

void widen_bins(GrowArray<MergedAxisBin>* bins, uint32_t by) {
    fold(
        bins, by, [](const auto& a, const auto& b) { return a.bin == b.bin; }, add_time);
}

MergedAxisBin bin_of(const MergedAxisRow& row) {
    return {row.bin, 1, row.phase, row.phase_weight, row.figures, row.figures, row.figures};
}

// Room was reserved.
void add_bin(const MergedAxisBin& bin, GrowArray<MergedAxisBin>* bins) {
    MergedAxisBin* at = std::lower_bound(
        bins->begin(), bins->end(), bin.bin,
        [](const MergedAxisBin& known, uint64_t wanted) { return known.bin < wanted; });
    if (at != bins->end() && at->bin == bin.bin) return add_ranks(bin, at);
    const auto place = static_cast<size_t>(at - bins->begin());
    bins->push(bin);
    std::move_backward(bins->begin() + place, bins->end() - 1, bins->end());
    (*bins)[place] = bin;
}

uint32_t common_shift(const Merged& into, const Merged& from) {
    return into.axis.empty()   ? from.axis_shift
           : from.axis.empty() ? into.axis_shift
                               : std::max(into.axis_shift, from.axis_shift);
}

void set_shift(uint32_t shift, Merged* merged) {
    const uint32_t by = shift - merged->axis_shift;
    if (by != 0 && !merged->axis.empty()) {
        widen_bins(&merged->axis, by);
        widen(&merged->axis_rows, by);
    }
    merged->axis_shift = shift;
}

}  // namespace

void add_figures(const AxisFigures& from, AxisFigures* into) {
    for (uint64_t AxisFigures::*figure : kAxisFigures) into->*figure += from.*figure;
}

void add_axis_row(const MergedAxisRow& from, MergedAxisRow* into) {
    add_figures(from.figures, &into->figures);
    vote(from.phase, from.phase_weight, into);
}

MergedAxisRow* axis_row_at(GrowArray<MergedAxisRow>* rows, uint64_t bin, uint32_t rank) {
    MergedAxisRow* at = std::lower_bound(
        rows->begin(), rows->end(), bin,
        [](const MergedAxisRow& known, uint64_t wanted) { return known.bin < wanted; });
    if (at != rows->end() && at->bin == bin) return at;
    const auto place = static_cast<size_t>(at - rows->begin());
    const MergedAxisRow row{bin, rank, kNoNode, 0, {}};
    if (!rows->push(row)) return nullptr;
    std::move_backward(rows->begin() + place, rows->end() - 1, rows->end());
    (*rows)[place] = row;
    return &(*rows)[place];
}

void widen(GrowArray<MergedAxisRow>* rows, uint32_t by) {
    fold(
        rows, by, [](const auto& a, const auto& b) { return a.rank == b.rank && a.bin == b.bin; },
        add_axis_row);
}

bool set_axis_of_rank(Merged* merged) {
    if (!merged->axis.reserve(merged->axis_rows.size())) return false;
    for (const MergedAxisRow& row : merged->axis_rows) add_bin(bin_of(row), &merged->axis);
    return true;
}

bool AxisJoin::prepare(Merged* into, const Merged& from, bool drops) {
    const size_t rows = into->axis_rows.size() + from.axis_rows.size();
    drops_ = drops || rows > into->row_limit;
    return bins_.reserve(into->axis.size() + from.axis.size()) &&
           (drops_ || into->axis_rows.reserve(rows));
}

void AxisJoin::commit(const GrowArray<uint32_t>& node_map, Merged* into, Merged* from) {
    into->axis_missing += from->axis_missing;
    const auto mapped = [&](uint32_t node) { return node != kNoNode ? node_map[node] : kNoNode; };
    for (MergedAxisBin& bin : from->axis) bin.phase = mapped(bin.phase);
    for (MergedAxisRow& row : from->axis_rows) row.phase = mapped(row.phase);
    const uint32_t shift = common_shift(*into, *from);
    bool widened = !into->axis.empty() && into->axis_shift != shift;
    widened = widened || (!from->axis.empty() && from->axis_shift != shift);
    set_shift(shift, into);
    set_shift(shift, from);
    for (const MergedAxisBin& bin : into->axis) bins_.push(bin);
    for (const MergedAxisBin& bin : from->axis) add_bin(bin, &bins_);
    if (!drops_) into->axis_rows.append(from->axis_rows.data(), from->axis_rows.size());
    into->axis.swap(bins_);
    while (into->axis.size() > kAxisBins) {
        set_shift(into->axis_shift + 1, into);
        widened = true;
    }
    if (drops_) {
        GrowArray<MergedAxisRow>().swap(into->axis_rows);
    } else if (widened) {
        // Least and most of wider bins are those of whole rows.
        into->axis.clear();
        for (const MergedAxisRow& row : into->axis_rows) add_bin(bin_of(row), &into->axis);
    }
}

}  // namespace dwell
