// The words of OTF2 for places; see otf2_roles.h.
#include "report/export/otf2_roles.h"

#include <algorithm>
#include <iterator>

#include "report/export/exporters.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/omp_constructs.h"

namespace dwell {
namespace {

constexpr Otf2Operation kOperations[] = {
    {"MPI_Barrier", OTF2_COLLECTIVE_OP_BARRIER, OTF2_REGION_ROLE_BARRIER, false},
    {"MPI_Bcast", OTF2_COLLECTIVE_OP_BCAST, OTF2_REGION_ROLE_COLL_ONE2ALL, true},
    {"MPI_Scatter", OTF2_COLLECTIVE_OP_SCATTER, OTF2_REGION_ROLE_COLL_ONE2ALL, true},
    {"MPI_Scatterv", OTF2_COLLECTIVE_OP_SCATTERV, OTF2_REGION_ROLE_COLL_ONE2ALL, true},
    {"MPI_Gather", OTF2_COLLECTIVE_OP_GATHER, OTF2_REGION_ROLE_COLL_ALL2ONE, true},
    {"MPI_Gatherv", OTF2_COLLECTIVE_OP_GATHERV, OTF2_REGION_ROLE_COLL_ALL2ONE, true},
    {"MPI_Reduce", OTF2_COLLECTIVE_OP_REDUCE, OTF2_REGION_ROLE_COLL_ALL2ONE, true},
    {"MPI_Allgather", OTF2_COLLECTIVE_OP_ALLGATHER, OTF2_REGION_ROLE_COLL_ALL2ALL, false},
    {"MPI_Allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV, OTF2_REGION_ROLE_COLL_ALL2ALL, false},
    {"MPI_Alltoall", OTF2_COLLECTIVE_OP_ALLTOALL, OTF2_REGION_ROLE_COLL_ALL2ALL, false},
    {"MPI_Alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV, OTF2_REGION_ROLE_COLL_ALL2ALL, false},
    {"MPI_Alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW, OTF2_REGION_ROLE_COLL_ALL2ALL, false},
    {"MPI_Allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE, OTF2_REGION_ROLE_COLL_ALL2ALL, false},
    {"MPI_Reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER, OTF2_REGION_ROLE_COLL_ALL2ALL, false},
    {"MPI_Reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK,
     OTF2_REGION_ROLE_COLL_ALL2ALL, false},
    {"MPI_Scan", OTF2_COLLECTIVE_OP_SCAN, OTF2_REGION_ROLE_COLL_OTHER, false},
    {"MPI_Exscan", OTF2_COLLECTIVE_OP_EXSCAN, OTF2_REGION_ROLE_COLL_OTHER, false},
};

OTF2_RegionRole role_of_call(const TimelinePlace& place) {
    if (const Otf2Operation* const operation = otf2_operation_of(place)) return operation->role;
    switch (place.call < kMpiCallCount ? kMpiCalls[place.call].call_class : CallClass::kNone) {
        case CallClass::kSend:
        case CallClass::kReceive:
        case CallClass::kSendReceive:
        case CallClass::kProbe:
        case CallClass::kWait:
        case CallClass::kTest:
            return OTF2_REGION_ROLE_POINT2POINT;
        case CallClass::kCollective:
            return OTF2_REGION_ROLE_COLL_OTHER;
        case CallClass::kRma:
            return OTF2_REGION_ROLE_RMA;
        case CallClass::kFile:
            return OTF2_REGION_ROLE_FILE_IO;
        default:
            return OTF2_REGION_ROLE_FUNCTION;
    }
}

OTF2_RegionRole role_of_construct(uint16_t call) {
    switch (static_cast<OmpConstruct>(call)) {
        case OmpConstruct::kParallel:
        case OmpConstruct::kTeams:
            return OTF2_REGION_ROLE_PARALLEL;
        case OmpConstruct::kLoop:
        case OmpConstruct::kStaticLoop:
        case OmpConstruct::kDynamicLoop:
        case OmpConstruct::kGuidedLoop:
        case OmpConstruct::kOtherLoop:
        case OmpConstruct::kDistribute:
        case OmpConstruct::kTaskloop:
            return OTF2_REGION_ROLE_LOOP;
        case OmpConstruct::kSections:
            return OTF2_REGION_ROLE_SECTIONS;
        case OmpConstruct::kSingle:
            return OTF2_REGION_ROLE_SINGLE;
        case OmpConstruct::kMasked:
            return OTF2_REGION_ROLE_MASTER;
        case OmpConstruct::kWorkshare:
            return OTF2_REGION_ROLE_WORKSHARE;
        case OmpConstruct::kBarrier:
            return OTF2_REGION_ROLE_BARRIER;
        case OmpConstruct::kImplicitBarrier:
            return OTF2_REGION_ROLE_IMPLICIT_BARRIER;
        case OmpConstruct::kTaskwait:
        case OmpConstruct::kTaskgroupEnd:
            return OTF2_REGION_ROLE_TASK_WAIT;
        case OmpConstruct::kTask:
            return OTF2_REGION_ROLE_TASK;
        case OmpConstruct::kCritical:
            return OTF2_REGION_ROLE_CRITICAL;
        case OmpConstruct::kOrdered:
            return OTF2_REGION_ROLE_ORDERED;
        case OmpConstruct::kAtomic:
            return OTF2_REGION_ROLE_ATOMIC;
        case OmpConstruct::kTargetEnterData:
        case OmpConstruct::kTargetExitData:
        case OmpConstruct::kTargetUpdate:
        case OmpConstruct::kTargetCopy:
            return OTF2_REGION_ROLE_DATA_TRANSFER;
        case OmpConstruct::kIdle:
            return OTF2_REGION_ROLE_ARTIFICIAL;
        default:
            return OTF2_REGION_ROLE_CODE;
    }
}

}  // namespace

const Otf2Operation* otf2_operation_of(const TimelinePlace& place) {
    if (!is_blocking_collective(place)) return nullptr;
    const auto* const found =
        std::find_if(std::begin(kOperations), std::end(kOperations),
                     [&](const Otf2Operation& known) { return place.name == known.name; });
    return found == std::end(kOperations) ? nullptr : found;
}

OTF2_RegionRole otf2_role_of(const TimelinePlace& place) {
    switch (place.kind) {
        case SiteKind::kProgram:
        case SiteKind::kProcedure:
            return OTF2_REGION_ROLE_FUNCTION;
        case SiteKind::kLoop:
            return OTF2_REGION_ROLE_LOOP;
        case SiteKind::kCommunication:
            return role_of_call(place);
        case SiteKind::kOpenMp:
            return role_of_construct(place.call);
        case SiteKind::kIo:
            return OTF2_REGION_ROLE_FILE_IO;
        default:
            return OTF2_REGION_ROLE_CODE;
    }
}

OTF2_Paradigm otf2_paradigm_of(const TimelinePlace& place) {
    switch (place.kind) {
        case SiteKind::kProgram:
        case SiteKind::kProcedure:
        case SiteKind::kLoop:
            return OTF2_PARADIGM_COMPILER;
        case SiteKind::kCommunication:
            return OTF2_PARADIGM_MPI;
        case SiteKind::kOpenMp:
            return OTF2_PARADIGM_OPENMP;
        case SiteKind::kBlock:
        case SiteKind::kMarker:
            return OTF2_PARADIGM_USER;
        default:
            return OTF2_PARADIGM_UNKNOWN;
    }
}

}  // namespace dwell
