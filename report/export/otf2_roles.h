// What OTF2 calls the places of a timeline: role, paradigm, operation.
#ifndef DWELL_REPORT_EXPORT_OTF2_ROLES_H_
#define DWELL_REPORT_EXPORT_OTF2_ROLES_H_

#include <otf2/OTF2_Definitions.h>
#include <otf2/OTF2_Events.h>
#include <otf2/OTF2_GeneralDefinitions.h>

#include "report/events/timeline.h"

namespace dwell {

OTF2_RegionRole otf2_role_of(const TimelinePlace& place);
OTF2_Paradigm otf2_paradigm_of(const TimelinePlace& place);

struct Otf2Operation {
    const char* name;  // of the MPI function
    OTF2_CollectiveOp operation;
    OTF2_RegionRole role;
    bool has_root;
};
// Null: no blocking collective that OTF2 knows.
const Otf2Operation* otf2_operation_of(const TimelinePlace& place);

}  // namespace dwell

#endif  // DWELL_REPORT_EXPORT_OTF2_ROLES_H_
