// Completes probes when GIMPLE has become RTL: they get the address of their frame. After register
// allocation and frame layout, the code of probes for enabled sites moves to the end of the
// procedure, so that a disabled site costs no taken branch.
#include "instrument/gcc/gcc_probes.h"

namespace dwell {

namespace {

// The only asm of an instruction, if it is a probe.
rtx probe_in(rtx_insn* instruction) {
    if (!NONJUMP_INSN_P(instruction)) {
        return nullptr;
    }
    rtx pattern = PATTERN(instruction);
    if (GET_CODE(pattern) == PARALLEL) {
        pattern = XVECEXP(pattern, 0, 0);
    }
    if (GET_CODE(pattern) == SET) {
        pattern = SET_SRC(pattern);
    }
    if (GET_CODE(pattern) != ASM_OPERANDS || ASM_OPERANDS_INPUT_LENGTH(pattern) == 0 ||
        strstr(ASM_OPERANDS_TEMPLATE(pattern), kProbeMark) == nullptr) {
        return nullptr;
    }
    return pattern;
}

rtx_insn* jump_to(rtx_code_label* label, rtx pattern, rtx_insn* after) {
    rtx_insn* jump = emit_jump_insn_after(pattern, after);
    JUMP_LABEL(jump) = label;
    ++LABEL_NUSES(label);
    return jump;
}

// Volatile, so that no test replaces another.
rtx level_of(const ProbeParts& parts) {
    rtx symbol = gen_rtx_SYMBOL_REF(Pmode, ggc_strdup(("*" + parts.level).c_str()));
    SYMBOL_REF_FLAGS(symbol) |= SYMBOL_FLAG_LOCAL;
    rtx level = gen_rtx_MEM(QImode, symbol);
    MEM_VOLATILE_P(level) = 1;
    return level;
}

// Blocks are in the order of their instructions; GCC decides later where this one is placed.
void move_body(rtx_insn* instruction, rtx operands, const ProbeParts& parts) {
    basic_block before = BLOCK_FOR_INSN(instruction);
    const edge past = split_block(before, instruction);
    rtx_code_label* back = block_label(past->dest);
    rtx_code_label* label = gen_label_rtx();

    rtx_insn* body_label = emit_label_after(label, get_last_insn());
    XSTR(operands, 0) = ggc_strdup(parts.body.c_str());
    rtx_insn* body = emit_insn_after_noloc(PATTERN(instruction), body_label, nullptr);
    INSN_LOCATION(body) = INSN_LOCATION(instruction);
    rtx_insn* end = jump_to(back, targetm.gen_jump(back), body);
    emit_barrier_after(end);
    basic_block cold = create_basic_block(body_label, end, EXIT_BLOCK_PTR_FOR_FN(cfun)->prev_bb);
    BB_COPY_PARTITION(cold, before);
    cold->count = before->count.apply_probability(profile_probability::very_unlikely());

    rtx flags = gen_rtx_REG(CCZmode, FLAGS_REG);
    rtx_insn* test = emit_insn_after_noloc(
        gen_rtx_SET(flags, gen_rtx_COMPARE(CCZmode, level_of(parts), const0_rtx)), instruction,
        nullptr);
    rtx is_on = gen_rtx_IF_THEN_ELSE(VOIDmode, gen_rtx_NE(VOIDmode, flags, const0_rtx),
                                     gen_rtx_LABEL_REF(Pmode, label), pc_rtx);
    INSN_LOCATION(test) = INSN_LOCATION(instruction);
    jump_to(label, gen_rtx_SET(pc_rtx, is_on), test);
    delete_insn(instruction);
    make_edge(before, cold, 0)->probability = profile_probability::very_unlikely();
    past->probability = profile_probability::very_likely();
    make_single_succ_edge(cold, past->dest, 0);
}

}  // namespace

void complete_probes() {
    for (rtx_insn* instruction = get_insns(); instruction != nullptr;
         instruction = NEXT_INSN(instruction)) {
        if (rtx operands = probe_in(instruction)) {
            rtx slot = gen_rtx_MEM(DImode, plus_constant(Pmode, virtual_cfa_rtx, -8));
            ASM_OPERANDS_INPUT(operands, 0) = slot;
            ASM_OPERANDS_INPUT_CONSTRAINT_EXP(operands, 0) =
                gen_rtx_ASM_INPUT(DImode, ggc_strdup("m"));
        }
    }
}

void move_bodies_away() {
    std::vector<std::pair<rtx_insn*, rtx>> probes;
    for (rtx_insn* instruction = get_insns(); instruction != nullptr;
         instruction = NEXT_INSN(instruction)) {
        rtx operands = probe_in(instruction);
        if (operands != nullptr && insn_nothrow_p(instruction)) {
            probes.emplace_back(instruction, operands);
        }
    }
    for (const auto& [instruction, operands] : probes) {
        const ProbeParts parts = parts_of_probe(ASM_OPERANDS_TEMPLATE(operands));
        if (!parts.level.empty()) {
            move_body(instruction, operands, parts);
        }
    }
}

}  // namespace dwell
