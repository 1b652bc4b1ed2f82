// The OpenMP constructs that nodes stand for (Site::call of kind kOpenMp), and their names. Numbers
// are part of the file format.
#ifndef DWELL_RUNTIME_CONTRACT_OMP_CONSTRUCTS_H_
#define DWELL_RUNTIME_CONTRACT_OMP_CONSTRUCTS_H_

#include <stdint.h>

namespace dwell {

enum class OmpConstruct : uint16_t {
    kNone = 0,
    kParallel = 1,
    kLoop = 2,  // schedule unknown
    kStaticLoop = 3,
    kDynamicLoop = 4,
    kGuidedLoop = 5,
    kOtherLoop = 6,  // schedule private to the OpenMP runtime
    kSections = 7,
    kSingle = 8,
    kMasked = 9,
    kWorkshare = 10,
    kDistribute = 11,
    kTaskloop = 12,
    kScope = 13,
    kBarrier = 14,
    kImplicitBarrier = 15,
    kTaskwait = 16,
    kTaskgroup = 17,
    kTaskgroupEnd = 18,  // waits for the tasks of the group
    kTask = 19,
    kCritical = 20,
    kLock = 21,  // waiting for a lock; how long it is held is unknown
    kNestLock = 22,
    kOrdered = 23,
    kAtomic = 24,
    kReduction = 25,
    kIdle = 26,  // a thread between two regions
    kTarget = 27,
    kTargetEnterData = 28,  // also the beginning of a `target data` block
    kTargetExitData = 29,   // also the end of a `target data` block
    kTargetUpdate = 30,
    kTargetCopy = 31,  // explicit copy, such as omp_target_memcpy
    kTeams = 32,       // a league of teams; one thread of each team begins
};
constexpr int kOmpConstructs = 33;

inline const char* omp_construct_name(uint16_t number) {
    switch (static_cast<OmpConstruct>(number)) {
        case OmpConstruct::kParallel:
            return "parallel";
        case OmpConstruct::kLoop:
            return "for";
        case OmpConstruct::kStaticLoop:
            return "for static";
        case OmpConstruct::kDynamicLoop:
            return "for dynamic";
        case OmpConstruct::kGuidedLoop:
            return "for guided";
        case OmpConstruct::kOtherLoop:
            return "for other";
        case OmpConstruct::kSections:
            return "sections";
        case OmpConstruct::kSingle:
            return "single";
        case OmpConstruct::kMasked:
            return "masked";
        case OmpConstruct::kWorkshare:
            return "workshare";
        case OmpConstruct::kDistribute:
            return "distribute";
        case OmpConstruct::kTaskloop:
            return "taskloop";
        case OmpConstruct::kScope:
            return "scope";
        case OmpConstruct::kBarrier:
            return "barrier";
        case OmpConstruct::kImplicitBarrier:
            return "implicit barrier";
        case OmpConstruct::kTaskwait:
            return "taskwait";
        case OmpConstruct::kTaskgroup:
            return "taskgroup";
        case OmpConstruct::kTaskgroupEnd:
            return "end of taskgroup";
        case OmpConstruct::kTask:
            return "task";
        case OmpConstruct::kCritical:
            return "critical";
        case OmpConstruct::kLock:
            return "lock";
        case OmpConstruct::kNestLock:
            return "nest lock";
        case OmpConstruct::kOrdered:
            return "ordered";
        case OmpConstruct::kAtomic:
            return "atomic";
        case OmpConstruct::kReduction:
            return "reduction";
        case OmpConstruct::kIdle:
            return "idle";
        case OmpConstruct::kTarget:
            return "target";
        case OmpConstruct::kTargetEnterData:
            return "target enter data";
        case OmpConstruct::kTargetExitData:
            return "target exit data";
        case OmpConstruct::kTargetUpdate:
            return "target update";
        case OmpConstruct::kTargetCopy:
            return "target copy";
        case OmpConstruct::kTeams:
            return "teams";
        case OmpConstruct::kNone:
            break;
    }
    return "omp";
}

// Constructs that may be nested in themselves on one thread by a recursive procedure.
inline bool may_hold_itself(OmpConstruct construct) {
    return construct == OmpConstruct::kParallel || construct == OmpConstruct::kTaskgroup ||
           construct == OmpConstruct::kMasked;
}

inline bool is_omp_loop(uint16_t number) {
    return number >= static_cast<uint16_t>(OmpConstruct::kLoop) &&
           number <= static_cast<uint16_t>(OmpConstruct::kOtherLoop);
}

// Constructs that fork threads.
inline bool is_omp_region(uint16_t number) {
    return number == static_cast<uint16_t>(OmpConstruct::kParallel) ||
           number == static_cast<uint16_t>(OmpConstruct::kTeams);
}

// Worksharing constructs may not contain another one, or a barrier, of the same region.
inline bool is_omp_worksharing(uint16_t number) {
    return is_omp_loop(number) || number == static_cast<uint16_t>(OmpConstruct::kSections) ||
           number == static_cast<uint16_t>(OmpConstruct::kSingle) ||
           number == static_cast<uint16_t>(OmpConstruct::kWorkshare);
}

// Constructs whose whole time is waiting for other threads.
inline bool is_omp_meeting(uint16_t number) {
    return number == static_cast<uint16_t>(OmpConstruct::kBarrier) ||
           number == static_cast<uint16_t>(OmpConstruct::kImplicitBarrier) ||
           number == static_cast<uint16_t>(OmpConstruct::kTaskwait) ||
           number == static_cast<uint16_t>(OmpConstruct::kTaskgroupEnd);
}

// Constructs for a device, on the host's thread.
inline bool is_omp_target(uint16_t number) {
    return number >= static_cast<uint16_t>(OmpConstruct::kTarget) &&
           number <= static_cast<uint16_t>(OmpConstruct::kTargetCopy);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_OMP_CONSTRUCTS_H_
