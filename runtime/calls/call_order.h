// What calls tell execution control (runtime/order) while it keeps the order of receives. Rooms
// below that one know this table alone: they look at it only where g_process.preserve_order is set.
#ifndef DWELL_RUNTIME_CALLS_CALL_ORDER_H_
#define DWELL_RUNTIME_CALLS_CALL_ORDER_H_

#include <stdint.h>

namespace dwell {

struct Call;
struct CommDefinition;
struct Thread;
enum class Dependence : uint8_t;
enum class MpiCall : uint16_t;

struct CallOrder {
    // Posts the receives that are held back: all of them, or if this call does not see to it
    // itself.
    void (*post_deferred)();
    void (*end_deferring)(MpiCall number);
    // A call has ended, or waits for something.
    void (*publish_running)(Thread* thread);
    void (*publish_receiving)(Call* call, uint32_t peer, uint32_t comm, int tag,
                              uint32_t post_order);
    void (*publish_waiting)(Call* call);
    void (*enter_collective_wait)(Call* call, const CommDefinition& name, uint32_t number,
                                  Dependence rule, int root, bool blocks);
    // A message to `peer` was announced.
    void (*wake)(Call* call, uint32_t peer, uint32_t comm, int tag);
};

// Set before g_process.preserve_order is.
inline const CallOrder* g_call_order __attribute__((visibility("hidden"))) = nullptr;

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLS_CALL_ORDER_H_
