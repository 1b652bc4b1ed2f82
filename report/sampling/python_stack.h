// Reads the Python functions on the stack of another process's thread, by offset and without
// stopping the thread (runtime/contract/python_layout.h). Data that change meanwhile are recognised
// by their types and dropped.
#ifndef DWELL_REPORT_SAMPLING_PYTHON_STACK_H_
#define DWELL_REPORT_SAMPLING_PYTHON_STACK_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/contract/python_layout.h"
#include "runtime/sampling/sample_spill.h"

namespace dwell {

class PythonStack {
  public:
    PythonStack(pid_t process, const PythonPlaces& places);

    // False if the thread runs no Python function, or the kernel denies access to its memory.
    bool read();

    // After read(): a record of kPythonSample. record() has capacity for more, a power of two.
    const std::vector<char>& record() const { return record_; }
    size_t record_bytes() const { return record_bytes_; }

  private:
    struct Code {
        PythonCode head;
        std::string name;
        std::string file;
        std::vector<uint8_t> lines;
    };
    bool copy(uint64_t from, void* to, size_t bytes) const;
    bool copy_text(const PythonText* from, size_t room, std::string* to) const;
    const Code* code_at(const PythonCode* address);
    bool add_frame(const PythonFrame& frame, const Code& code);

    pid_t process_;
    PythonPlaces places_;
    std::map<const PythonCode*, Code> codes_;
    std::vector<char> record_;
    size_t record_bytes_ = 0;
};

}  // namespace dwell

#endif  // DWELL_REPORT_SAMPLING_PYTHON_STACK_H_
