// The code that the kernel puts into every process (vdso: clock_gettime and its kin). It is no
// file: `dwell` reads its own copy, which is that of every process on the same kernel.
#ifndef DWELL_SUMMARIZE_CODE_VDSO_H_
#define DWELL_SUMMARIZE_CODE_VDSO_H_

#include <string>
#include <string_view>

namespace dwell {

constexpr const char* kVdsoName = "[vdso]";  // as the kernel calls it

// By the name that the dynamic linker or the kernel gives it.
bool is_vdso(std::string_view path);

// A copy of this process's ELF image; empty when there is none. Elf's functions may write to it.
std::string* vdso_image();

// "clock_gettime [vdso]", or "[vdso]" for code without symbol.
std::string vdso_function(std::string_view symbol);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CODE_VDSO_H_
