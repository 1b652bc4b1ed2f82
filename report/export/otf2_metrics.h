// Counts of metrics as OTF2 has them: a class of metrics for each list that a process knows, whose
// values count since the start of the thread.
#ifndef DWELL_REPORT_EXPORT_OTF2_METRICS_H_
#define DWELL_REPORT_EXPORT_OTF2_METRICS_H_

#include <otf2/otf2.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "report/export/exporters.h"

namespace dwell {

class Otf2Metrics {
  public:
    explicit Otf2Metrics(const Timeline& timeline) : timeline_(timeline), sums_(timeline) {}

    OTF2_ErrorCode write(const TimelineEvent& event, OTF2_EvtWriter* writer);
    // `string` gives the reference of a text.
    OTF2_ErrorCode define(OTF2_GlobalDefWriter* writer,
                          const std::function<uint32_t(const std::string&)>& string) const;

  private:
    const Timeline& timeline_;
    MetricSums sums_;
    std::map<std::vector<uint32_t>, uint32_t> classes_;  // numbers, by metrics
};

}  // namespace dwell

#endif  // DWELL_REPORT_EXPORT_OTF2_METRICS_H_
