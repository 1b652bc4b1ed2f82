// Metric members, classes and events; see otf2_metrics.h.
#include "report/export/otf2_metrics.h"

#include "summarize/profile/metric_counts.h"

namespace dwell {

OTF2_ErrorCode Otf2Metrics::write(const TimelineEvent& event, OTF2_EvtWriter* writer) {
    const std::vector<uint32_t>& metrics = sums_.known_by(event);
    if (metrics.empty()) return OTF2_SUCCESS;
    sums_.add(event);
    OTF2_Type types[kMetricLimit];
    OTF2_MetricValue values[kMetricLimit];
    for (size_t i = 0; i < metrics.size(); ++i) {
        types[i] = OTF2_TYPE_UINT64;
        values[i].unsigned_int = sums_.of(event.thread)[metrics[i]];
    }
    const auto known = classes_.emplace(metrics, static_cast<uint32_t>(classes_.size())).first;
    return OTF2_EvtWriter_Metric(writer, nullptr, event.ns, known->second,
                                 static_cast<uint8_t>(metrics.size()), types, values);
}

OTF2_ErrorCode Otf2Metrics::define(
    OTF2_GlobalDefWriter* writer, const std::function<uint32_t(const std::string&)>& string) const {
    OTF2_ErrorCode code = OTF2_SUCCESS;
    const std::vector<std::string>& names = timeline_.metrics();
    for (uint32_t i = 0; i < names.size() && !classes_.empty() && code == OTF2_SUCCESS; ++i) {
        const std::string unit(metric_unit(names[i]));
        code = OTF2_GlobalDefWriter_WriteMetricMember(
            writer, i, string(names[i]), string(""), OTF2_METRIC_TYPE_OTHER,
            OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0,
            string(unit.empty() ? "#" : unit));
    }
    std::vector<const std::vector<uint32_t>*> by_number(classes_.size());
    for (const auto& [metrics, number] : classes_) by_number[number] = &metrics;
    for (uint32_t i = 0; i < by_number.size() && code == OTF2_SUCCESS; ++i) {
        code = OTF2_GlobalDefWriter_WriteMetricClass(
            writer, i, static_cast<uint8_t>(by_number[i]->size()), by_number[i]->data(),
            OTF2_METRIC_SYNCHRONOUS, OTF2_RECORDER_KIND_CPU);
    }
    return code;
}

}  // namespace dwell
