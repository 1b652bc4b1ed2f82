// Whether the thread sanitizer watches. It does not accept that records are read while their owner
// stores plainly, as readers of a running process do.
#ifndef DWELL_TESTS_UNIT_THREAD_SANITIZER_H_
#define DWELL_TESTS_UNIT_THREAD_SANITIZER_H_

namespace dwell {

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DWELL_THREAD_SANITIZER 1
#endif
#endif
#ifdef DWELL_THREAD_SANITIZER
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_THREAD_SANITIZER_H_
