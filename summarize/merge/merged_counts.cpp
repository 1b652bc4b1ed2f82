// Sums metric counts by node, and relates the metric names of two trees; see merged_counts.h.
#include "summarize/merge/merged_counts.h"

#include <string.h>

namespace dwell {
namespace {

uint64_t hash_of(uint32_t node) { return mix_hash(node, 0x6d); }

}  // namespace

uint32_t CountTable::find(uint64_t hash, uint32_t node) const {
    return index_.find(hash, [&](uint32_t i) { return (*counts_)[i].node == node; });
}

bool CountTable::load(size_t extra) {
    const size_t most = counts_->size() + extra;
    if (!index_.reserve(most) || !counts_->reserve(most)) return false;
    for (size_t i = 0; i < counts_->size(); i++) {
        const uint64_t hash = hash_of((*counts_)[i].node);
        if (find(hash, (*counts_)[i].node) == HashIndex::kAbsent) {
            index_.insert(hash, static_cast<uint32_t>(i));
        }
    }
    return true;
}

bool CountTable::add(const MergedCounts& counts) {
    const uint64_t hash = hash_of(counts.node);
    const uint32_t known = find(hash, counts.node);
    if (known == HashIndex::kAbsent) {
        if (!index_.reserve(counts_->size() + 1) || !counts_->push(counts)) return false;
        index_.insert(hash, static_cast<uint32_t>(counts_->size() - 1));
        return true;
    }
    MergedCounts* into = &(*counts_)[known];
    into->entries += counts.entries;
    into->time_ns += counts.time_ns;
    for (uint32_t i = 0; i < kMetricNames; i++) into->values[i] += counts.values[i];
    return true;
}

uint32_t find_metric(const Merged& merged, uint32_t name) {
    for (uint32_t i = 0; i < merged.metrics.size(); i++) {
        if (merged.metrics[i].name == name) return i;
    }
    return kNoMetric;
}

bool add_metric_names(Merged* merged, TextTable* text, uint32_t lines, bool missing) {
    char name[256];
    for (uint32_t at = lines; merged->text[at] != '\0';) {
        const char* const line = merged->text.data() + at;
        const size_t length = strcspn(line, "\n");
        const bool is_last = line[length] == '\0';
        const size_t kept = length < sizeof(name) ? length : sizeof(name) - 1;
        memcpy(name, line, kept);  // a pointer into the text becomes invalid when the text grows
        const uint32_t offset = text->intern(name, kept);
        if (offset == kNoText) return false;
        uint32_t metric = find_metric(*merged, offset);
        if (metric == kNoMetric && merged->metrics.size() < kMetricNames) {
            metric = static_cast<uint32_t>(merged->metrics.size());
            if (!merged->metrics.push({offset, 0, 0, 0})) return false;
        }
        if (metric != kNoMetric) {
            (missing ? merged->metrics[metric].missing : merged->metrics[metric].ranks) += 1;
        }
        at += static_cast<uint32_t>(length) + (is_last ? 0 : 1);
    }
    return true;
}

MetricMap join_metrics(const GrowArray<MergedMetric>& from, Merged* into) {
    MetricMap map;
    for (uint32_t& of : map.of) of = kNoMetric;
    for (uint32_t i = 0; i < from.size() && i < kMetricNames; i++) {
        map.of[i] = find_metric(*into, from[i].name);
        if (map.of[i] == kNoMetric && into->metrics.size() < kMetricNames) {
            map.of[i] = static_cast<uint32_t>(into->metrics.size());
            into->metrics.push({from[i].name, 0, 0, 0});
        }
        if (map.of[i] == kNoMetric) continue;
        into->metrics[map.of[i]].ranks += from[i].ranks;
        into->metrics[map.of[i]].missing += from[i].missing;
    }
    return map;
}

MergedCounts mapped_counts(const MergedCounts& counts, const MetricMap& map) {
    MergedCounts mapped = counts;
    for (uint64_t& value : mapped.values) value = 0;
    for (uint32_t i = 0; i < kMetricNames; i++) {
        if (map.of[i] != kNoMetric) mapped.values[map.of[i]] += counts.values[i];
    }
    return mapped;
}

}  // namespace dwell
