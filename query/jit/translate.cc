#include "jit/translate.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/invariant.h"
#include "jit/pair.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace scyper::query::jit {
namespace {

using ir::Block;
using ir::Inst;
using ir::kNoBlock;
using ir::kNoReg;
using ir::Op;
using ir::Reg;
using ir::Type;
using llvm::Value;

// 1 : 2000, the weight that clang gives __builtin_expect
constexpr uint32_t kLikelyWeight = 2000;
// Frames that could step over a guard page are probed page by page.
constexpr uint32_t kProbeFrameBytes = 4096;

// The blocks in reverse postorder: every definition comes before its uses.
std::vector<Block> reverse_postorder(const ir::Function& function) {
  std::vector<Block> order;
  std::vector<bool> seen(function.blocks.size());
  struct Frame {
    Block block;
    size_t next;  // instruction to look for targets at, times two plus which target
  };
  std::vector<Frame> stack{{0, 0}};
  seen[0] = true;
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const auto& block = function.blocks[frame.block];
    if (frame.next == block.size() * 2) {
      order.push_back(frame.block);
      stack.pop_back();
      continue;
    }
    // what is visited last comes first: the terminator's targets right behind their block, overflow exits far away
    const Inst& inst = block[frame.next / 2];
    const Block target = frame.next % 2 == 0 ? inst.other : inst.target;
    ++frame.next;
    if (target == kNoBlock || seen[target]) continue;
    seen[target] = true;
    stack.push_back({target, 0});
  }
  return {order.rbegin(), order.rend()};
}

class Translator {
 public:
  Translator(const ir::Function& function, const std::string& symbol, WideIntegers wide, llvm::Module& module)
      : f_(function),
        splits_wide_(wide == WideIntegers::kAsPairs),
        module_(module),
        context_(module.getContext()),
        b_(context_),
        values_(function.registers.size()),
        highs_(splits_wide_ ? function.registers.size() : 0),
        bits_(function.registers.size()),
        blocks_(function.blocks.size()) {
    llvm::Type* pointer = b_.getPtrTy();
    auto* signature = llvm::FunctionType::get(b_.getInt32Ty(), {pointer, pointer, pointer}, false);
    target_ = llvm::Function::Create(signature, llvm::Function::ExternalLinkage, symbol, module_);
    target_->setDoesNotThrow();
    target_->addFnAttr("frame-pointer", "all");
    if (f_.frame_bytes >= kProbeFrameBytes) target_->addFnAttr("probe-stack", "inline-asm");
  }

  void translate() {
    auto* entry = llvm::BasicBlock::Create(context_, "", target_);
    b_.SetInsertPoint(entry);
    make_frame();
    const std::vector<Block> order = reverse_postorder(f_);
    for (Block block : order) blocks_[block] = llvm::BasicBlock::Create(context_, "", target_);
    b_.CreateBr(blocks_[0]);
    for (Block block : order) {
      b_.SetInsertPoint(blocks_[block]);
      for (const Inst& inst : f_.blocks[block]) translate_inst(inst);
    }
  }

 private:
  llvm::Type* type(Type type) {
    switch (type) {
      case Type::kVoid:
        return b_.getVoidTy();
      case Type::kI8:
        return b_.getInt8Ty();
      case Type::kI16:
        return b_.getInt16Ty();
      case Type::kI32:
        return b_.getInt32Ty();
      case Type::kI64:
        return b_.getInt64Ty();
      case Type::kI128:
        return b_.getInt128Ty();
      case Type::kF64:
        return b_.getDoubleTy();
      case Type::kPtr:
        return b_.getPtrTy();
    }
    INVARIANT(false);
  }

  void make_frame() {
    for (Reg reg = 0; reg < 3; ++reg) values_[reg] = target_->getArg(reg);
    for (Reg reg = 3; reg < f_.registers.size(); ++reg) {
      if (!f_.mutable_registers[reg]) continue;
      llvm::Type* t = is_pair(reg) ? b_.getInt64Ty() : type(f_.registers[reg]);
      values_[reg] = make_variable(t);
      if (is_pair(reg)) highs_[reg] = make_variable(t);
    }
    if (f_.frame_bytes != 0) {
      auto* memory = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), f_.frame_bytes));
      memory->setAlignment(llvm::Align(16));
      frame_ = memory;
    }
    if (!f_.data.empty()) {
      auto* bytes = llvm::ConstantDataArray::getString(context_, f_.data, /*AddNull=*/false);
      auto* global = new llvm::GlobalVariable(module_, bytes->getType(), /*isConstant=*/true,
                                              llvm::GlobalValue::PrivateLinkage, bytes, "data");
      global->setAlignment(llvm::Align(16));
      data_ = global;
    }
  }

  Value* make_variable(llvm::Type* t) {
    Value* variable = b_.CreateAlloca(t);
    b_.CreateStore(llvm::Constant::getNullValue(t), variable);
    return variable;
  }

  // A register of 128 bits whose halves are values of their own. FastISel knows 64 bits at most: what it meets of more
  // sends the rest of a block through SelectionDAG, at two to three times the cost.
  bool is_pair(Reg reg) const { return splits_wide_ && f_.registers[reg] == Type::kI128; }
  Pair get_pair(Reg reg) {
    INVARIANT(values_[reg] != nullptr && highs_[reg] != nullptr);
    if (!f_.mutable_registers[reg]) return {values_[reg], highs_[reg]};
    return {b_.CreateLoad(b_.getInt64Ty(), values_[reg]), b_.CreateLoad(b_.getInt64Ty(), highs_[reg])};
  }
  void set_pair(Reg reg, Pair value) {
    if (f_.mutable_registers[reg]) {
      b_.CreateStore(value.low, values_[reg]);
      b_.CreateStore(value.high, highs_[reg]);
    } else {
      values_[reg] = value.low;
      highs_[reg] = value.high;
    }
  }

  Value* get(Reg reg) {
    if (is_pair(reg)) return join(b_, get_pair(reg));
    if (f_.mutable_registers[reg]) return b_.CreateLoad(type(f_.registers[reg]), values_[reg]);
    INVARIANT(values_[reg] != nullptr);
    return values_[reg];
  }
  void set(Reg reg, Value* value) {
    if (is_pair(reg)) return set_pair(reg, split(b_, value));
    if (f_.mutable_registers[reg]) {
      b_.CreateStore(value, values_[reg]);
    } else {
      values_[reg] = value;
    }
  }
  // A kI8 condition as one bit; comparisons have it already.
  Value* bit(Reg reg) {
    if (bits_[reg] != nullptr) return bits_[reg];
    return b_.CreateICmpNE(get(reg), b_.getInt8(0));
  }
  // An unused extension costs nothing: every tier drops it.
  void set_bit(Reg reg, Value* value) {
    set(reg, b_.CreateZExt(value, b_.getInt8Ty()));
    if (!f_.mutable_registers[reg]) bits_[reg] = value;
  }
  Value* address(const Inst& inst) {
    Value* base = get(inst.a);
    return inst.imm == 0 ? base : b_.CreateGEP(b_.getInt8Ty(), base, b_.getInt64(static_cast<uint64_t>(inst.imm)));
  }

  void translate_inst(const Inst& inst) {
    if (splits_wide_ && translate_pair(inst)) return;
    switch (inst.op) {
      case Op::kConst:
        return set(inst.dst, constant(inst));
      case Op::kConstWide:
        return set(inst.dst, wide_constant(inst));
      case Op::kMove:
        return move(inst);
      case Op::kDataAddr:
        return set(inst.dst, b_.CreateConstGEP1_64(b_.getInt8Ty(), data_, inst.imm));
      case Op::kFrameAddr:
        return set(inst.dst, b_.CreateConstGEP1_64(b_.getInt8Ty(), frame_, inst.imm));
      case Op::kSelect:
        return set(inst.dst, b_.CreateSelect(bit(inst.a), get(inst.b), get(inst.c)));
      case Op::kBswap:
        return set(inst.dst, b_.CreateUnaryIntrinsic(llvm::Intrinsic::bswap, get(inst.a)));
      case Op::kLoad:
        return load(inst);
      case Op::kStore:
        b_.CreateAlignedStore(get(inst.b), address(inst), llvm::Align(1));
        return;
      case Op::kIndex:
        return set(inst.dst, index(inst));
      case Op::kPrefetch:
        return prefetch(inst);
      case Op::kCall:
        return call(inst);
      case Op::kJump:
        b_.CreateBr(blocks_[inst.target]);
        return;
      case Op::kBranch:
        return branch(inst);
      case Op::kReturn:
        b_.CreateRet(get(inst.a));
        return;
      default:
        break;
    }
    if (inst.op >= Op::kSExt) return convert(inst);
    if (inst.op >= Op::kEq) return compare(inst);
    if (inst.op >= Op::kAddChecked) return checked(inst);
    set(inst.dst, arithmetic(inst, get(inst.a), get(inst.b)));
  }

  // Of what reads or gives 128 bits, what halves can do; false: not that.
  bool translate_pair(const Inst& inst) {
    const bool gives = inst.dst != kNoReg && is_pair(inst.dst);
    const bool reads = inst.a != kNoReg && is_pair(inst.a);
    switch (inst.op) {
      case Op::kStore:
        if (!is_pair(inst.b)) return false;
        store_pair(get_pair(inst.b), address(inst));
        return true;
      case Op::kTrunc:
        if (reads) set(inst.dst, b_.CreateTrunc(get_pair(inst.a).low, type(inst.type)));
        return reads;
      case Op::kEq:
      case Op::kNe:
      case Op::kLt:
      case Op::kLe:
      case Op::kGt:
      case Op::kGe:
      case Op::kULt:
        if (reads) set_bit(inst.dst, compare_pairs(b_, inst.op, get_pair(inst.a), get_pair(inst.b)));
        return reads;
      case Op::kAddChecked:
      case Op::kSubChecked:
        if (gives) checked_pair(inst);
        return gives;
      default:
        break;
    }
    if (!gives) return false;
    const std::optional<Pair> value = pair_of(inst);
    if (value.has_value()) set_pair(inst.dst, *value);
    return value.has_value();
  }

  std::optional<Pair> pair_of(const Inst& inst) {
    switch (inst.op) {
      case Op::kConst:
        return Pair{b_.getInt64(static_cast<uint64_t>(inst.imm)), b_.getInt64(inst.imm < 0 ? ~uint64_t{0} : 0)};
      case Op::kConstWide: {
        uint64_t words[2];
        memcpy(words, f_.data.data() + inst.imm, sizeof words);
        return Pair{b_.getInt64(words[0]), b_.getInt64(words[1])};
      }
      case Op::kMove:
        return get_pair(inst.a);
      case Op::kLoad:
        return load_pair(inst);
      case Op::kSelect: {
        Value* condition = bit(inst.a);
        const Pair a = get_pair(inst.b), b = get_pair(inst.c);
        return Pair{b_.CreateSelect(condition, a.low, b.low), b_.CreateSelect(condition, a.high, b.high)};
      }
      case Op::kSExt: {
        Value* low = b_.CreateSExt(get(inst.a), b_.getInt64Ty());
        return Pair{low, b_.CreateAShr(low, 63)};
      }
      case Op::kZExt:
        return Pair{b_.CreateZExt(get(inst.a), b_.getInt64Ty()), b_.getInt64(0)};
      case Op::kAdd:
        return add_pairs(b_, get_pair(inst.a), get_pair(inst.b));
      case Op::kSub:
        return subtract_pairs(b_, get_pair(inst.a), get_pair(inst.b));
      case Op::kAnd:
      case Op::kOr:
      case Op::kXor: {
        const Pair a = get_pair(inst.a), b = get_pair(inst.b);
        return Pair{arithmetic(inst, a.low, b.low), arithmetic(inst, a.high, b.high)};
      }
      default:
        return std::nullopt;
    }
  }

  Pair load_pair(const Inst& inst) {
    Value* from = address(inst);
    llvm::LoadInst* low = b_.CreateAlignedLoad(b_.getInt64Ty(), from, llvm::Align(1));
    llvm::LoadInst* high = b_.CreateAlignedLoad(b_.getInt64Ty(), high_address(from), llvm::Align(1));
    if (inst.invariant)
      for (llvm::LoadInst* half : {low, high})
        half->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    return {low, high};
  }
  void store_pair(Pair value, Value* to) {
    b_.CreateAlignedStore(value.low, to, llvm::Align(1));
    b_.CreateAlignedStore(value.high, high_address(to), llvm::Align(1));
  }
  Value* high_address(Value* low) { return b_.CreateConstGEP1_64(b_.getInt8Ty(), low, 8); }

  // A sum overflows where both operands have the other sign, a difference where the operands' signs differ and the
  // result has not the first one's.
  void checked_pair(const Inst& inst) {
    const bool adds = inst.op == Op::kAddChecked;
    const Pair a = get_pair(inst.a), b = get_pair(inst.b);
    const Pair result = adds ? add_pairs(b_, a, b) : subtract_pairs(b_, a, b);
    Value* other = adds ? b_.CreateXor(b.high, result.high) : b_.CreateXor(a.high, b.high);
    Value* signs = b_.CreateAnd(b_.CreateXor(a.high, result.high), other);
    auto* next = llvm::BasicBlock::Create(context_, "", target_, b_.GetInsertBlock()->getNextNode());
    b_.CreateCondBr(b_.CreateICmpSLT(signs, b_.getInt64(0)), blocks_[inst.target], next, weights(2));
    b_.SetInsertPoint(next);
    set_pair(inst.dst, result);
  }

  void load(const Inst& inst) {
    llvm::LoadInst* value = b_.CreateAlignedLoad(type(inst.type), address(inst), llvm::Align(1));
    if (inst.invariant) value->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    set(inst.dst, value);
  }

  llvm::Constant* constant(const Inst& inst) {
    if (inst.type == Type::kPtr) return llvm::ConstantPointerNull::get(b_.getPtrTy());
    if (inst.type != Type::kF64) return llvm::ConstantInt::getSigned(type(inst.type), inst.imm);
    double value;
    memcpy(&value, &inst.imm, sizeof value);
    return llvm::ConstantFP::get(b_.getDoubleTy(), value);
  }

  llvm::Constant* wide_constant(const Inst& inst) {
    uint64_t words[2];
    memcpy(words, f_.data.data() + inst.imm, sizeof words);
    return llvm::ConstantInt::get(context_, llvm::APInt(128, words));
  }

  void move(const Inst& inst) {
    Value* one_bit = bits_[inst.a];
    set(inst.dst, get(inst.a));
    if (!f_.mutable_registers[inst.dst]) bits_[inst.dst] = one_bit;
  }

  Value* arithmetic(const Inst& inst, Value* a, Value* b) {
    switch (inst.op) {
      case Op::kAdd:
        return b_.CreateAdd(a, b);
      case Op::kSub:
        return b_.CreateSub(a, b);
      case Op::kMul:
        return b_.CreateMul(a, b);
      case Op::kSDiv:
        return b_.CreateSDiv(a, b);
      case Op::kSRem:
        return b_.CreateSRem(a, b);
      case Op::kAnd:
        return b_.CreateAnd(a, b);
      case Op::kOr:
        return b_.CreateOr(a, b);
      case Op::kXor:
        return bitwise_xor(inst, a, b);
      case Op::kShl:
        return b_.CreateShl(a, b);
      case Op::kLShr:
        return b_.CreateLShr(a, b);
      case Op::kAShr:
        return b_.CreateAShr(a, b);
      case Op::kFAdd:
        return b_.CreateFAdd(a, b);
      case Op::kFSub:
        return b_.CreateFSub(a, b);
      case Op::kFMul:
        return b_.CreateFMul(a, b);
      default:
        INVARIANT(inst.op == Op::kFDiv);
        return b_.CreateFDiv(a, b);
    }
  }

  // x xor 1 negates a comparison: keep the negation as one bit too.
  Value* bitwise_xor(const Inst& inst, Value* a, Value* b) {
    auto* one = llvm::dyn_cast<llvm::ConstantInt>(b);
    if (bits_[inst.a] != nullptr && one != nullptr && one->isOne() && !f_.mutable_registers[inst.dst]) {
      bits_[inst.dst] = b_.CreateNot(bits_[inst.a]);
      return b_.CreateZExt(bits_[inst.dst], b_.getInt8Ty());
    }
    return b_.CreateXor(a, b);
  }

  void checked(const Inst& inst) {
    const auto intrinsic = inst.op == Op::kAddChecked   ? llvm::Intrinsic::sadd_with_overflow
                           : inst.op == Op::kSubChecked ? llvm::Intrinsic::ssub_with_overflow
                                                        : llvm::Intrinsic::smul_with_overflow;
    Value* both = b_.CreateBinaryIntrinsic(intrinsic, get(inst.a), get(inst.b));
    Value* result = b_.CreateExtractValue(both, 0);
    Value* overflow = b_.CreateExtractValue(both, 1);
    auto* next = llvm::BasicBlock::Create(context_, "", target_, b_.GetInsertBlock()->getNextNode());
    b_.CreateCondBr(overflow, blocks_[inst.target], next, weights(2));
    b_.SetInsertPoint(next);
    set(inst.dst, result);
  }

  void compare(const Inst& inst) {
    using llvm::CmpInst;
    static constexpr CmpInst::Predicate kPredicates[] = {
        CmpInst::ICMP_EQ,  CmpInst::ICMP_NE,  CmpInst::ICMP_SLT, CmpInst::ICMP_SLE, CmpInst::ICMP_SGT,
        CmpInst::ICMP_SGE, CmpInst::ICMP_ULT, CmpInst::FCMP_OEQ, CmpInst::FCMP_UNE, CmpInst::FCMP_OLT,
        CmpInst::FCMP_OLE, CmpInst::FCMP_OGT, CmpInst::FCMP_OGE};
    const auto predicate = kPredicates[static_cast<size_t>(inst.op) - static_cast<size_t>(Op::kEq)];
    set_bit(inst.dst, b_.CreateCmp(predicate, get(inst.a), get(inst.b)));
  }

  void convert(const Inst& inst) {
    llvm::Type* to = type(inst.type);
    Value* a = get(inst.a);
    switch (inst.op) {
      case Op::kSExt:
        return set(inst.dst, b_.CreateSExt(a, to));
      case Op::kZExt:
        return set(inst.dst, b_.CreateZExt(a, to));
      case Op::kTrunc:
        return set(inst.dst, b_.CreateTrunc(a, to));
      case Op::kIntToF:
        return set(inst.dst, b_.CreateSIToFP(a, to));
      case Op::kFToInt:
        return set(inst.dst, b_.CreateFPToSI(a, to));
      default:
        return set(inst.dst, b_.CreateBitOrPointerCast(a, to));
    }
  }

  Value* index(const Inst& inst) {
    Value* base = get(inst.a);
    Value* count = get(inst.b);
    if (inst.imm > 0 && inst.imm <= 8 && (inst.imm & (inst.imm - 1)) == 0) {  // one addressing mode
      return b_.CreateGEP(llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(inst.imm)), base, count);
    }
    Value* scaled = b_.CreateMul(count, b_.getInt64(static_cast<uint64_t>(inst.imm)));
    return b_.CreateGEP(b_.getInt8Ty(), base, scaled);
  }

  void prefetch(const Inst& inst) {
    // for reading, into all cache levels, data
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                       {address(inst), b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  }

  llvm::MDNode* weights(uint8_t likely) {
    if (likely == 0) return nullptr;
    llvm::MDNode*& node = weights_[likely - 1];
    if (node == nullptr) {
      llvm::MDBuilder metadata(context_);
      node =
          likely == 1 ? metadata.createBranchWeights(kLikelyWeight, 1) : metadata.createBranchWeights(1, kLikelyWeight);
    }
    return node;
  }

  void branch(const Inst& inst) {
    b_.CreateCondBr(bit(inst.a), blocks_[inst.target], blocks_[inst.other], weights(inst.likely));
  }

  llvm::Function* callee(const ir::External& external) {
    const llvm::StringRef name(external.name.data(), external.name.size());
    if (llvm::Function* known = module_.getFunction(name)) return known;
    const std::vector<llvm::Type*> words(external.words, b_.getInt64Ty());
    auto* signature = llvm::FunctionType::get(type(external.result), words, false);
    auto* function = llvm::Function::Create(signature, llvm::Function::ExternalLinkage, name, module_);
    function->setDoesNotThrow();
    if (external.pure) {
      function->setOnlyReadsMemory();
      function->setWillReturn();
    }
    return function;
  }

  // The 64-bit integer words that carry one argument (see ir::External).
  void push_words(Reg reg, std::vector<Value*>& words) {
    if (is_pair(reg)) {
      const Pair pair = get_pair(reg);
      words.insert(words.end(), {pair.low, pair.high});
      return;
    }
    Value* value = get(reg);
    llvm::Type* word = b_.getInt64Ty();
    switch (f_.registers[reg]) {
      case Type::kI8:
        words.push_back(b_.CreateZExt(value, word));
        return;
      case Type::kI16:
      case Type::kI32:
        words.push_back(b_.CreateSExt(value, word));
        return;
      case Type::kI128:
        words.push_back(b_.CreateTrunc(value, word));
        words.push_back(b_.CreateTrunc(b_.CreateLShr(value, 64), word));
        return;
      case Type::kF64:
        words.push_back(b_.CreateBitCast(value, word));
        return;
      default:
        words.push_back(value);  // kI64; kPtr as it is: the callee's signature decides
    }
  }

  // Gives a word the type of the callee's parameter.
  Value* fit(Value* word, llvm::Type* to) {
    if (word->getType() == to) return word;
    if (to->isPointerTy()) return b_.CreateIntToPtr(word, to);
    if (word->getType()->isPointerTy()) word = b_.CreatePtrToInt(word, b_.getInt64Ty());
    return b_.CreateTrunc(word, to);  // nothing to do for 64 bits
  }

  void call(const Inst& inst) {
    const ir::External& external = *f_.externals[static_cast<size_t>(inst.imm)];
    llvm::Function* function = callee(external);
    std::vector<Value*> words;
    for (uint32_t i = 0; i < inst.arg_count; ++i) push_words(f_.call_args[inst.args + i], words);
    INVARIANT(words.size() == function->arg_size());
    for (unsigned i = 0; i < words.size(); ++i) words[i] = fit(words[i], function->getArg(i)->getType());
    llvm::CallInst* result = b_.CreateCall(function, words);
    // an InlineLibrary's function may have attributes (zeroext, noundef) that its callers must repeat
    result->setAttributes(function->getAttributes().removeFnAttributes(context_));
    result->setDoesNotThrow();
    if (inst.dst == kNoReg) return;
    Value* value = result;
    llvm::Type* wanted = type(inst.type);
    if (value->getType() != wanted && value->getType()->isIntegerTy(1)) value = b_.CreateZExt(value, wanted);
    set(inst.dst, b_.CreateBitOrPointerCast(value, wanted));
  }

  const ir::Function& f_;
  const bool splits_wide_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  llvm::Function* target_ = nullptr;
  std::vector<Value*> values_;  // of temporaries; the stack slots of variables
  std::vector<Value*> highs_;   // of pairs, whose low halves are in values_
  std::vector<Value*> bits_;    // of temporaries that are comparisons, as i1
  std::vector<llvm::BasicBlock*> blocks_;
  llvm::MDNode* weights_[2] = {};
  Value* frame_ = nullptr;
  Value* data_ = nullptr;
};

}  // namespace

void translate(const ir::Function& function, const std::string& symbol, WideIntegers wide, llvm::Module& module) {
  Translator(function, symbol, wide, module).translate();
}

}  // namespace scyper::query::jit
