// Decodes instructions and jump tables; see machine_code.h. Forms of operands: Intel's manual,
// volume 2, "Instruction Format". Tables as GCC and LLVM write them: 4-byte distances from the
// table's beginning, added to it before the jump; 8-byte addresses where code is not
// position-independent.
#include "summarize/code/machine_code.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <cstring>

namespace dwell {
namespace {

using Kind = MachineInstruction::Kind;

constexpr size_t kMostTableEntries = 4096;

bool has_memory_operand(const ZydisDecodedInstruction& decoded) {
    return (decoded.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 && decoded.raw.modrm.mod != 3;
}

bool is_relative_operand(const ZydisDecodedInstruction& decoded) {
    return has_memory_operand(decoded) && decoded.raw.modrm.mod == 0 && decoded.raw.modrm.rm == 5;
}

// The fixed address in an operand: of a datum, or of an indexed table. 0: none.
uint64_t place_of(const ZydisDecodedInstruction& decoded, uint64_t end) {
    const auto distance = static_cast<uint64_t>(decoded.raw.disp.value);
    if (is_relative_operand(decoded)) return end + distance;
    const bool without_base = has_memory_operand(decoded) && decoded.raw.modrm.mod == 0 &&
                              decoded.raw.modrm.rm == 4 && decoded.raw.sib.base == 5;
    return without_base ? distance : 0;
}

Kind kind_of(const ZydisDecodedInstruction& decoded) {
    const bool direct = decoded.raw.imm[0].is_relative != 0;
    switch (decoded.meta.category) {
        case ZYDIS_CATEGORY_CALL:
            if (direct) return Kind::kCall;
            return is_relative_operand(decoded) ? Kind::kCallOut : Kind::kCallUnknown;
        case ZYDIS_CATEGORY_COND_BR:
            return Kind::kBranch;
        case ZYDIS_CATEGORY_UNCOND_BR: {
            if (direct) return Kind::kJump;
            // Tables are indexed; a jump through a fixed address leads to a function.
            const bool table = !has_memory_operand(decoded) || decoded.raw.modrm.rm == 4;
            return table ? Kind::kIndirectJump : Kind::kJumpOut;
        }
        case ZYDIS_CATEGORY_RET:
            return Kind::kReturn;
        default:
            break;
    }
    const bool stops = decoded.mnemonic == ZYDIS_MNEMONIC_UD2 ||
                       decoded.mnemonic == ZYDIS_MNEMONIC_HLT ||
                       decoded.mnemonic == ZYDIS_MNEMONIC_INT3;
    return stops ? Kind::kStop : Kind::kOther;
}

void read_entries(DebugFile* file, uint64_t table, uint64_t end, bool distances,
                  const std::unordered_map<uint64_t, uint32_t>& known,
                  std::vector<uint64_t>* targets) {
    const DebugFile::Bytes bytes = file->bytes_at(table);
    if (bytes.code) return;
    const size_t width = distances ? 4 : 8;
    const size_t room = std::min<size_t>(bytes.size, end - table) / width;
    for (size_t i = 0; i < std::min(room, kMostTableEntries); ++i) {
        uint64_t target = 0;
        if (distances) {
            int32_t distance = 0;
            std::memcpy(&distance, bytes.data + width * i, width);
            target = table + static_cast<uint64_t>(int64_t{distance});
        } else {
            std::memcpy(&target, bytes.data + width * i, width);
        }
        if (known.count(target) == 0) break;
        targets->push_back(target);
    }
}

}  // namespace

bool read_instructions(DebugFile* file, uint64_t start, uint64_t end,
                       std::vector<MachineInstruction>* instructions) {
    const DebugFile::Bytes bytes = file->bytes_at(start);
    if (!bytes.code || !bytes.is_x86_64 || bytes.size < end - start) return false;
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (uint64_t at = start; at < end;) {
        ZydisDecodedInstruction decoded;
        const ZyanStatus status = ZydisDecoderDecodeInstruction(
            &decoder, nullptr, bytes.data + (at - start), end - at, &decoded);
        if (!ZYAN_SUCCESS(status)) return false;
        MachineInstruction instruction;
        instruction.address = at;
        instruction.length = decoded.length;
        instruction.kind = kind_of(decoded);
        instruction.adds = decoded.mnemonic == ZYDIS_MNEMONIC_ADD;
        at += decoded.length;
        if (instruction.is_direct_jump() || instruction.kind == Kind::kCall) {
            instruction.target = at + static_cast<uint64_t>(decoded.raw.imm[0].value.s);
        } else {
            instruction.target = place_of(decoded, at);
        }
        const bool linkage = file->bytes_at(instruction.target).linkage;
        if (linkage && instruction.kind == Kind::kCall) instruction.kind = Kind::kCallOut;
        if (linkage && instruction.kind == Kind::kJump) instruction.kind = Kind::kJumpOut;
        instructions->push_back(instruction);
    }
    return true;
}

std::vector<uint64_t> jump_table(DebugFile* file,
                                 const std::vector<MachineInstruction>& instructions, uint32_t jump,
                                 const std::unordered_map<uint64_t, uint32_t>& known) {
    std::vector<uint64_t> targets;
    const MachineInstruction* const before = jump == 0 ? nullptr : &instructions[jump - 1];
    uint64_t addresses = instructions[jump].target;
    if (addresses == 0 && before != nullptr && !before->adds) addresses = before->target;
    if (addresses != 0) {
        read_entries(file, addresses, UINT64_MAX, false, known, &targets);
        return targets;
    }
    if (before == nullptr || !before->adds) return targets;
    // The analysis does not follow which table is used, so all of the procedure's tables count.
    std::vector<uint64_t> tables;
    for (const MachineInstruction& instruction : instructions) {
        const bool names = instruction.kind == Kind::kOther && instruction.target != 0;
        if (names) tables.push_back(instruction.target);
    }
    std::sort(tables.begin(), tables.end());
    tables.erase(std::unique(tables.begin(), tables.end()), tables.end());
    for (size_t i = 0; i < tables.size(); ++i) {
        const uint64_t end = i + 1 < tables.size() ? tables[i + 1] : UINT64_MAX;
        read_entries(file, tables[i], end, true, known, &targets);
    }
    return targets;
}

}  // namespace dwell
