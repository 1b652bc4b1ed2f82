// The enabling profile: a text file that selects the sites that get probes at compile time, and
// those that are on at run time (DESIGN 8, AIMS); format: docs/enabling-profile.md. Used by the
// compiler plugins, the compiler wrapper and libdwell.so: needs nothing beyond libc.
#ifndef DWELL_RUNTIME_CONTRACT_ENABLING_PROFILE_H_
#define DWELL_RUNTIME_CONTRACT_ENABLING_PROFILE_H_

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include "runtime/contract/record_layout.h"

namespace dwell {

enum class Decision : uint8_t {
    kUnsaid,  // no line matches, or the last matching line is `default`
    kOn,
    kOff,
    kCount,  // counted without time; at compile time as kOn
};

// Properties of a site that a line may refer to. Texts may be null and then match no pattern.
struct SiteFacts {
    SiteKind kind;
    uint8_t flags;          // SiteRowFlags of site_table.h
    uint32_t line;          // 0 = unknown
    const char* name;       // linkage name of a procedure, of the procedure around a loop,
                            // or of the procedure called; the text of a block or marker
    const char* demangled;  // form of `name`; needed for C++ only
    const char* file;
};

// What a pattern of the profile matches: `*` any characters, `?` one.
bool text_matches(std::string_view pattern, std::string_view text);
// The path, or the part after any of its slashes; `path` may be null.
bool file_matches(std::string_view pattern, const char* path);
// The linkage name or the demangled one, which may be null, as written in the source: without
// parameters, return type, ending of a clone and Fortran's underscore; module::procedure.
bool procedure_matches(std::string_view pattern, const char* name, const char* demangled);

class EnablingProfile {
  public:
    EnablingProfile() = default;
    ~EnablingProfile();
    EnablingProfile(const EnablingProfile&) = delete;
    EnablingProfile& operator=(const EnablingProfile&) = delete;

    // Replaces the former content. False: error() gives the reason, and the profile is empty.
    bool read(const char* path);
    // Likewise for text in memory; `path` is for messages.
    bool parse(const char* text, size_t bytes, const char* path);

    // "FILE:LINE: reason" or "FILE: reason", without an end of line.
    const char* error() const { return error_; }

    // The last matching line decides. Thread-safe; no allocation.
    Decision decide(const SiteFacts& site) const;

    // True when a line has a pattern for names: only then names must be demangled.
    bool asks_for_names() const { return asks_for_names_; }

  private:
    struct Rule;

    bool parse_text(const char* path);
    void forget();

    char* text_ = nullptr;  // text that the rules' patterns point into
    size_t bytes_ = 0;
    Rule* rules_ = nullptr;
    size_t rule_count_ = 0;
    bool asks_for_names_ = false;
    char error_[600] = {};
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_ENABLING_PROFILE_H_
