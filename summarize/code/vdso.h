// The code that the kernel maps into every process (vdso: clock_gettime and others). It has no
// file, so `dwell` reads its own copy, which is equal in all processes on the same kernel.
#ifndef DWELL_SUMMARIZE_CODE_VDSO_H_
#define DWELL_SUMMARIZE_CODE_VDSO_H_

#include <string>
#include <string_view>

namespace dwell {

constexpr const char* kVdsoName = "[vdso]";  // the kernel's name for it

// Recognises it by the name that the dynamic linker or the kernel uses.
bool is_vdso(std::string_view path);

// A copy of this process's ELF image; empty when there is none. libelf may write to it.
std::string* vdso_image();

// "clock_gettime [vdso]", or "[vdso]" for code without a symbol.
std::string vdso_function(std::string_view symbol);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CODE_VDSO_H_
