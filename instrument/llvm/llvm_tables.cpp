// Emits the static table of a module as LLVM globals, with its constructor; see llvm_tables.h.
#include "instrument/llvm/llvm_tables.h"

#include <algorithm>
#include <map>

#include "llvm/Config/llvm-config.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "runtime/contract/site_table.h"

using llvm::Constant;
using llvm::ConstantExpr;
using llvm::ConstantInt;
using llvm::Function;
using llvm::GlobalValue;
using llvm::GlobalVariable;
using llvm::Module;
using llvm::StringRef;
using llvm::Type;

namespace dwell {
namespace {

constexpr unsigned kRowBytes = sizeof(SiteRow);
// Name and priority are equal in the objects of all compilers, so the linker keeps one constructor
// for each program or library. It runs before static initialisers (65535) and constructors of users
// (101 and up).
constexpr char kRegister[] = "dwell_start_module";
constexpr int kRegisterPriority = 100;

// Indices of a row's fields in the structure of row_type().
class RowWriter {
  public:
    RowWriter(Module& module, const LlvmUnit& unit)
        : module_(module),
          unit_(unit),
          i8_(Type::getInt8Ty(module.getContext())),
          i16_(Type::getInt16Ty(module.getContext())),
          i32_(Type::getInt32Ty(module.getContext())),
          i64_(Type::getInt64Ty(module.getContext())),
          row_type_(llvm::StructType::get(
              module.getContext(), {i32_, i32_, i32_, i32_, i32_, i8_, i8_, i16_, i32_, i32_})) {}

    LlvmTables write() {
        auto* rows_type = llvm::ArrayType::get(row_type_, unit_.rows.size() + 1);
        rows_ = new GlobalVariable(module_, rows_type, true, GlobalValue::PrivateLinkage, nullptr,
                                   "dwell.rows");
        rows_->setSection("dwell_sites");
        rows_->setAlignment(llvm::Align(kRowBytes));

        // At least one byte: the section's start and end must exist.
        auto* levels_type = llvm::ArrayType::get(i8_, std::max(unit_.levels, 1));
        levels_ = new GlobalVariable(module_, levels_type, false, GlobalValue::PrivateLinkage,
                                     Constant::getNullValue(levels_type), "dwell.levels");
        levels_->setSection("dwell_levels");
        levels_->setAlignment(llvm::Align(1));
        levels_->setExternallyInitialized(true);  // libdwell.so writes them

        std::vector<Constant*> links(1 + kEntryPoints, ConstantInt::get(i64_, 0));
        links[0] = ConstantInt::get(i64_, kEntryPoints);
        auto* links_type = llvm::ArrayType::get(i64_, links.size());
        links_ = new GlobalVariable(module_, links_type, false, GlobalValue::PrivateLinkage,
                                    llvm::ConstantArray::get(links_type, links), "dwell.links");
        links_->setSection("dwell_links");
        links_->setAlignment(llvm::Align(sizeof(uint64_t)));
        links_->setExternallyInitialized(true);

        std::vector<Constant*> rows{unit_row()};
        for (size_t i = 0; i < unit_.rows.size(); ++i) rows.push_back(site_row(i));
        rows_->setInitializer(
            llvm::ConstantArray::get(llvm::cast<llvm::ArrayType>(rows_type), rows));
        // Keeps them without references: not every site has probes.
        llvm::appendToUsed(module_, {rows_, levels_, links_});
        return {rows_, levels_, links_};
    }

  private:
    Constant* unit_row() {
        const char* compiler = "clang " LLVM_VERSION_STRING;
        return llvm::ConstantStruct::get(
            row_type_, {text(0, 0, compiler), text(0, 1, unit_.file), text(0, 2, unit_.directory),
                        number(unit_.rows.size()), number(0), kind(SiteKind::kProgram), flags(0),
                        ConstantInt::get(i16_, kSiteTableVersion), number(unit_.loops_seen),
                        number(unit_.procedures_seen)});
    }

    Constant* site_row(size_t index) {
        const LlvmRow& row = unit_.rows[index];
        const size_t at = index + 1;
        Constant* level = row.level == kNoRow
                              ? number(0)
                              : distance(level_address({rows_, levels_, links_}, row.level), at, 4);
        const int64_t up =
            row.enclosing == kNoRow ? 0 : row.enclosing - static_cast<int64_t>(index);
        return llvm::ConstantStruct::get(
            row_type_, {text(at, 0, row.name), text(at, 1, row.file), number(row.line),
                        ConstantInt::getSigned(i32_, up), level, kind(row.kind), flags(row.flags),
                        ConstantInt::get(i16_, std::min(row.column, 0xffffu)), number(row.end_line),
                        number(0)});
    }

    Constant* number(uint64_t value) { return ConstantInt::get(i32_, value); }
    Constant* kind(SiteKind value) { return ConstantInt::get(i8_, static_cast<uint8_t>(value)); }
    Constant* flags(uint8_t value) { return ConstantInt::get(i8_, value); }

    // `target` relative to a field of a row; the assembler or linker computes it.
    Constant* distance(Constant* target, size_t row, unsigned field) {
        Constant* at = ConstantExpr::getInBoundsGetElementPtr(
            rows_->getValueType(), rows_,
            llvm::ArrayRef<Constant*>{number(0), number(row), number(field)});
        return ConstantExpr::getTrunc(ConstantExpr::getSub(ConstantExpr::getPtrToInt(target, i64_),
                                                           ConstantExpr::getPtrToInt(at, i64_)),
                                      i32_);
    }

    Constant* text(size_t row, unsigned field, StringRef value) {
        if (value.empty()) return number(0);
        GlobalVariable*& variable = texts_[value.str()];
        if (variable == nullptr) {
            Constant* bytes = llvm::ConstantDataArray::getString(module_.getContext(), value);
            variable = new GlobalVariable(module_, bytes->getType(), true,
                                          GlobalValue::PrivateLinkage, bytes, "dwell.text");
            variable->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
            variable->setAlignment(llvm::Align(1));
        }
        return distance(variable, row, field);
    }

    Module& module_;
    const LlvmUnit& unit_;
    Type *i8_, *i16_, *i32_, *i64_;
    llvm::StructType* row_type_;
    GlobalVariable* rows_ = nullptr;
    GlobalVariable* levels_ = nullptr;
    GlobalVariable* links_ = nullptr;
    std::map<std::string, GlobalVariable*> texts_;
};

Constant* section_edge(Module& module, StringRef name) {
    Constant* edge = module.getOrInsertGlobal(name, Type::getInt8Ty(module.getContext()));
    auto* variable = llvm::cast<GlobalVariable>(edge->stripPointerCasts());
    variable->setVisibility(GlobalValue::HiddenVisibility);
    return variable;
}

Function* make_glue(Module& module, StringRef name, GlobalValue::LinkageTypes linkage) {
    auto* type = llvm::FunctionType::get(Type::getVoidTy(module.getContext()), false);
    Function* glue = Function::Create(type, linkage, name, module);
    glue->addFnAttr(llvm::Attribute::NoUnwind);
    glue->addFnAttr(llvm::Attribute::NoInline);
    glue->addFnAttr(llvm::Attribute::OptimizeForSize);
    return glue;
}

Function* weak_function(Module& module, StringRef name, llvm::FunctionType* type) {
    llvm::Value* target = module.getOrInsertFunction(name, type).getCallee();
    auto* function = llvm::cast<Function>(target->stripPointerCasts());
    if (function->isDeclaration()) function->setLinkage(GlobalValue::ExternalWeakLinkage);
    function->addFnAttr(llvm::Attribute::NonLazyBind);  // tested and called through the same slot
    return function;
}

// Calls `callee` with the arguments, unless it is null; `prepare` may add code before the call.
template <typename Prepare>
void call_unless_null(llvm::IRBuilder<>& build, llvm::FunctionType* type, llvm::Value* callee,
                      llvm::ArrayRef<llvm::Value*> arguments, Prepare prepare) {
    Function* glue = build.GetInsertBlock()->getParent();
    auto* present = llvm::BasicBlock::Create(build.getContext(), "", glue);
    auto* done = llvm::BasicBlock::Create(build.getContext(), "", glue);
    build.CreateCondBr(build.CreateIsNotNull(callee), present, done);
    build.SetInsertPoint(present);
    prepare();
    build.CreateCall(type, callee, arguments);
    build.CreateBr(done);
    build.SetInsertPoint(done);
    build.CreateRetVoid();
}

void fill_constructor(Function* constructor, GlobalVariable* data) {
    Module& module = *constructor->getParent();
    llvm::IRBuilder<> build(llvm::BasicBlock::Create(module.getContext(), "", constructor));
    auto* type =
        llvm::FunctionType::get(build.getVoidTy(), {data->getType(), build.getInt64Ty()}, false);
    // The second one always exists, see site_table.h.
    Function* library = weak_function(module, "dwell_link_module", type);
    Function* interposed = weak_function(module, "gnu_get_libc_release", type);
    llvm::Value* callee =
        build.CreateSelect(build.CreateIsNotNull(library), library,
                           build.CreatePointerCast(interposed, library->getType()));
    call_unless_null(build, type, callee, {data, build.getInt64(kLinkModuleMark)}, [&] {
        unsigned field = 0;
        for (const char* edge :
             {"__start_dwell_sites", "__stop_dwell_sites", "__start_dwell_levels",
              "__stop_dwell_levels", "__start_dwell_links", "__stop_dwell_links"}) {
            build.CreateStore(section_edge(module, edge),
                              build.CreateStructGEP(data->getValueType(), data, field++));
        }
    });
}

void fill_destructor(Function* destructor, GlobalVariable* data) {
    llvm::IRBuilder<> build(llvm::BasicBlock::Create(destructor->getContext(), "", destructor));
    auto* type = llvm::FunctionType::get(build.getVoidTy(), {data->getType()}, false);
    constexpr unsigned kUnlink = offsetof(LinkedModule, unlink) / sizeof(uint64_t);
    llvm::Value* unlink = build.CreateLoad(
        build.getInt8PtrTy(), build.CreateStructGEP(data->getValueType(), data, kUnlink));
    call_unless_null(build, type, build.CreatePointerCast(unlink, type->getPointerTo()), {data},
                     [] {});
}

// The LinkedModule is filled at run time, so that the module needs no relocations for it. Only the
// group's constructor has a linker name, equal in all compilers: a link that mixes object files
// with files to be optimised chooses name by name.
void emit_registration(Module& module) {
    llvm::Comdat* group = module.getOrInsertComdat(kRegister);
    Type* pointer = Type::getInt8PtrTy(module.getContext());
    auto* data_type = llvm::StructType::get(
        module.getContext(), std::vector<Type*>(sizeof(LinkedModule) / sizeof(uint64_t), pointer));
    auto* data = new GlobalVariable(module, data_type, false, GlobalValue::InternalLinkage,
                                    Constant::getNullValue(data_type), "dwell_module");
    data->setExternallyInitialized(true);
    Function* constructor = make_glue(module, kRegister, GlobalValue::WeakAnyLinkage);
    constructor->setVisibility(GlobalValue::HiddenVisibility);
    Function* destructor = make_glue(module, "dwell_stop_module", GlobalValue::InternalLinkage);
    for (llvm::GlobalObject* member :
         {static_cast<llvm::GlobalObject*>(data), static_cast<llvm::GlobalObject*>(constructor),
          static_cast<llvm::GlobalObject*>(destructor)}) {
        member->setComdat(group);
    }
    fill_constructor(constructor, data);
    fill_destructor(destructor, data);
    llvm::appendToGlobalCtors(module, constructor, kRegisterPriority, constructor);
    llvm::appendToGlobalDtors(module, destructor, kRegisterPriority, constructor);
}

Constant* byte_address(GlobalVariable* variable, uint64_t offset) {
    llvm::LLVMContext& context = variable->getContext();
    Constant* bytes = ConstantExpr::getPointerCast(variable, Type::getInt8PtrTy(context));
    return ConstantExpr::getInBoundsGetElementPtr(
        Type::getInt8Ty(context), bytes,
        llvm::ArrayRef<Constant*>{ConstantInt::get(Type::getInt64Ty(context), offset)});
}

}  // namespace

LlvmTables emit_tables(Module& module, const LlvmUnit& unit) {
    const LlvmTables tables = RowWriter(module, unit).write();
    emit_registration(module);
    return tables;
}

Constant* row_address(const LlvmTables& tables, int row) {
    return byte_address(tables.rows, (static_cast<uint64_t>(row) + 1) * kRowBytes);
}

Constant* level_address(const LlvmTables& tables, int level) {
    return byte_address(tables.levels, static_cast<uint64_t>(level));
}

Constant* link_address(const LlvmTables& tables, EntryPoint entry) {
    return byte_address(tables.links, offsetof(LinkTable, entry) + entry * sizeof(uint64_t));
}

}  // namespace dwell
