// Callbacks from calls into execution control (runtime/order). Lower rooms know only this table and
// use it only where g_process.preserve_order is set.
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
    // Posts all deferred receives; end_deferring: unless the call `number` does so itself.
    void (*post_deferred)();
    void (*end_deferring)(MpiCall number);
    // A call has ended, or starts to wait.
    void (*publish_running)(Thread* thread);
    void (*publish_receiving)(Call* call, uint32_t peer, uint32_t comm, int tag,
                              uint32_t post_order);
    void (*publish_waiting)(Call* call);
    void (*enter_collective_wait)(Call* call, const CommDefinition& name, uint32_t number,
                                  Dependence rule, int root, bool blocks);
    // A message to `peer` was sent: wakes receivers that wait for it.
    void (*wake)(Call* call, uint32_t peer, uint32_t comm, int tag);
};

// Set before g_process.preserve_order is.
inline const CallOrder* g_call_order __attribute__((visibility("hidden"))) = nullptr;

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLS_CALL_ORDER_H_
