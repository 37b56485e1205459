#include "query/program_image.h"

#include <cstring>
#include <type_traits>

#include "base/invariant.h"
#include "compile/program_parts.h"
#include "runtime/swap.h"

namespace scyper::query {
namespace {

// What the bytes hold, in order: the programs reached from the statement, the statement first. Each: name, command,
// catalog version, time zone, openings, parameter types, columns, tables, foreign tables, callees by number, then
// native entry or IR.

class ImageWriter {
 public:
  template <typename T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(std::string_view text) {
    put<uint64_t>(text.size());
    bytes_.append(text);
  }
  template <typename T>
  void put_all(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put<uint64_t>(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// The parent wrote it, so what does not fit is a programmer's error.
class ImageReader {
 public:
  explicit ImageReader(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::string get_text() {
    const auto size = get<uint64_t>();
    return std::string(take(size), size);
  }
  template <typename T>
  std::vector<T> get_all() {
    std::vector<T> values(get<uint64_t>());
    const char* from = take(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(static_cast<void*>(values.data()), from, values.size() * sizeof(T));
    return values;
  }
  bool is_empty() const { return bytes_.empty(); }

 private:
  const char* take(size_t size) {
    INVARIANT(bytes_.size() >= size);
    const char* data = bytes_.data();
    bytes_.remove_prefix(size);
    return data;
  }
  std::string_view bytes_;
};

void put_function(const ir::Function& function, ImageWriter* out) {
  out->put_text(function.name);
  out->put_all(function.registers);
  std::vector<uint8_t> is_mutable(function.mutable_registers.begin(), function.mutable_registers.end());
  out->put_all(is_mutable);
  out->put<uint64_t>(function.blocks.size());
  for (const auto& block : function.blocks) out->put_all(block);
  out->put_all(function.call_args);
  out->put_all(function.externals);  // static objects
  out->put_text(function.data);
  out->put(function.frame_bytes);
  out->put_all(function.swaps.blocks);
  out->put(function.form);
}

ir::Function get_function(ImageReader* in) {
  ir::Function function;
  function.name = in->get_text();
  function.registers = in->get_all<ir::Type>();
  const auto is_mutable = in->get_all<uint8_t>();
  function.mutable_registers.assign(is_mutable.begin(), is_mutable.end());
  function.blocks.resize(in->get<uint64_t>());
  for (auto& block : function.blocks) block = in->get_all<ir::Inst>();
  function.call_args = in->get_all<ir::Reg>();
  function.externals = in->get_all<const ir::External*>();
  function.data = in->get_text();
  function.frame_bytes = in->get<uint32_t>();
  function.swaps = swap_points();
  function.swaps.blocks = in->get_all<ir::Block>();
  function.form = in->get<ir::Reg>();
  return function;
}

void put_foreign(const ForeignTable& table, ImageWriter* out) {
  out->put_text(table.file);
  out->put_text(table.shape.table);
  out->put<uint64_t>(table.shape.columns.size());
  for (const ResultColumn& column : table.shape.columns) {
    out->put_text(column.name);
    out->put(column.type);
  }
  const CopyFormat& format = table.shape.format;
  out->put(format.is_csv);
  out->put(format.delimiter);
  out->put_text(format.null_text);
  out->put(format.header);
  out->put(format.quote);
  out->put(format.escape);
}

std::shared_ptr<const ForeignTable> get_foreign(ImageReader* in) {
  auto table = std::make_shared<ForeignTable>();
  table->file = in->get_text();
  table->shape.table = in->get_text();
  table->shape.columns.resize(in->get<uint64_t>());
  for (ResultColumn& column : table->shape.columns) {
    column.name = in->get_text();
    column.type = in->get<SqlType>();
  }
  CopyFormat& format = table->shape.format;
  format.is_csv = in->get<bool>();
  format.delimiter = in->get<char>();
  format.null_text = in->get_text();
  format.header = in->get<CopyHeader>();
  format.quote = in->get<char>();
  format.escape = in->get<char>();
  return table;
}

void collect(const Program& program, std::vector<const Program*>* all) {
  for (const Program* known : *all) {
    if (known == &program) return;
  }
  all->push_back(&program);
  for (const Program* callee : program.parts().callees) collect(*callee, all);
}

uint64_t number_of(const Program* program, const std::vector<const Program*>& all) {
  uint64_t number = 0;
  while (all[number] != program) ++number;
  return number;
}

void put_program(const Program& program, const std::vector<const Program*>& all, ImageWriter* out,
                 ProgramImage* image) {
  const ProgramParts& parts = program.parts();
  out->put_text(parts.name);
  out->put_text(parts.command);
  out->put(parts.catalog_version);
  out->put(parts.resources.can_share);
  {
    const ZoneScope zone(parts.zone.get());
    out->put_text(session_zone_mark());
  }
  out->put(parts.sets_zone);
  out->put<uint64_t>(parts.resources.openings.size());
  for (const ChunkOpening& opening : parts.resources.openings) {
    out->put(opening.window);
    out->put(opening.place);
    out->put_all(opening.columns);
  }
  out->put_all(parts.parameter_types);
  out->put<uint64_t>(parts.columns.size());
  for (const ResultColumn& column : parts.columns) {
    out->put_text(column.name);
    out->put(column.type);
    out->put(column.declared);
  }
  std::vector<storage::Table*> tables;
  for (const auto& table : parts.resources.tables) tables.push_back(table.get());
  out->put_all(tables);
  out->put_all(parts.table_partitions);
  out->put<uint64_t>(parts.resources.foreign.size());
  for (const auto& table : parts.resources.foreign) put_foreign(*table, out);
  std::vector<uint64_t> callees;
  for (const Program* callee : parts.callees) callees.push_back(number_of(callee, all));
  out->put_all(callees);
  jit::TieredCode::Form form = parts.code->form();
  const jit::NativeCode::Entry entry = form.native == nullptr ? nullptr : form.native->entry;
  out->put(entry);
  const std::shared_ptr<const jit::NativeCode> swap_code = parts.code->swap_code();
  out->put(swap_code == nullptr ? nullptr : swap_code->entry);
  if (swap_code != nullptr) image->pins.push_back(swap_code);
  image->codes.push_back(reinterpret_cast<const void*>(entry));
  if (entry != nullptr) {
    image->pins.push_back(std::move(form.native));
  } else {
    INVARIANT(form.function != nullptr);
    put_function(*form.function, out);
  }
}

// Programs of an image, which refer to each other.
struct Imported {
  std::vector<std::unique_ptr<Program>> programs;
};

std::unique_ptr<Program> get_program(ImageReader* in, std::vector<uint64_t>* callees) {
  auto parts = std::make_unique<ProgramParts>();
  parts->name = in->get_text();
  parts->command = in->get_text();
  parts->catalog_version = in->get<uint64_t>();
  parts->resources.can_share = in->get<bool>();
  parts->zone = make_session_zone(in->get_text());
  parts->sets_zone = in->get<bool>();
  parts->resources.openings.resize(in->get<uint64_t>());
  for (ChunkOpening& opening : parts->resources.openings) {
    opening.window = in->get<uint32_t>();
    opening.place = in->get<uint32_t>();
    opening.columns = in->get_all<uint32_t>();
  }
  parts->parameter_types = in->get_all<SqlType>();
  parts->columns.resize(in->get<uint64_t>());
  for (ResultColumn& column : parts->columns) {
    column.name = in->get_text();
    column.type = in->get<SqlType>();
    column.declared = in->get<SqlType>();
  }
  for (storage::Table* table : in->get_all<storage::Table*>()) {
    parts->resources.tables.push_back(std::shared_ptr<storage::Table>(std::shared_ptr<void>(), table));  // not owned
  }
  parts->table_partitions = in->get_all<storage::TablePartition**>();
  parts->resources.foreign.resize(in->get<uint64_t>());
  for (auto& table : parts->resources.foreign) table = get_foreign(in);
  *callees = in->get_all<uint64_t>();
  const auto entry = in->get<jit::NativeCode::Entry>();
  const auto swap_target = in->get<jit::NativeCode::Entry>();
  parts->code = entry != nullptr ? jit::TieredCode::of_entry(entry, swap_target)
                                 : jit::TieredCode::of_function(get_function(in), swap_target);
  return std::make_unique<Program>(std::move(parts));
}

}  // namespace

ProgramImage export_program(const Program& program) {
  std::vector<const Program*> all;
  collect(program, &all);
  ProgramImage image;
  image.form = form_of_program(program);
  ImageWriter out;
  out.put<uint64_t>(all.size());
  for (const Program* one : all) put_program(*one, all, &out, &image);
  image.bytes = out.take();
  return image;
}

std::vector<const ForeignTable*> foreign_tables_of(const Program& program) {
  std::vector<const Program*> programs;
  collect(program, &programs);
  std::vector<const ForeignTable*> tables;
  for (const Program* one : programs)
    for (const auto& table : one->parts().resources.foreign) tables.push_back(table.get());
  return tables;
}

std::string export_better(const Program& program, ProgramImage* image) {
  const uint64_t form = form_of_program(program);
  if (form == image->form) return {};
  image->form = form;
  std::vector<const Program*> all;
  collect(program, &all);
  INVARIANT(all.size() == image->codes.size());
  ImageWriter out;
  for (uint64_t i = 0; i < all.size(); i++) {
    jit::TieredCode::Form now = all[i]->parts().code->form();
    if (now.native == nullptr || reinterpret_cast<const void*>(now.native->entry) == image->codes[i]) continue;
    image->codes[i] = reinterpret_cast<const void*>(now.native->entry);
    out.put(i);
    out.put(now.native->entry);
    out.put(now.native->tier);
    image->pins.push_back(std::move(now.native));
  }
  return out.take();
}

void improve_program(const Program& program, std::string_view bytes, bool starts) {
  std::vector<const Program*> all;
  collect(program, &all);
  ImageReader in(bytes);
  while (!in.is_empty()) {
    const auto number = in.get<uint64_t>();
    const auto entry = in.get<jit::NativeCode::Entry>();
    INVARIANT(number < all.size());
    all[number]->parts().code->improve_to(entry, in.get<jit::Tier>(), starts);
  }
}

std::vector<std::shared_ptr<const void>> when_better(const Program& program, const std::function<void()>& then) {
  std::vector<const Program*> all;
  collect(program, &all);
  std::vector<std::shared_ptr<const void>> listeners;
  for (const Program* one : all)
    if (one->parts().code->may_improve()) listeners.push_back(one->parts().code->when_better(then));
  return listeners;
}

uint64_t form_of_program(const Program& program) {
  std::vector<const Program*> all;
  collect(program, &all);
  uint64_t form = 0;
  for (const Program* one : all) form += one->parts().code->form_number();
  return form;
}

std::shared_ptr<const Program> import_program(std::string_view bytes) {
  ImageReader in(bytes);
  auto imported = std::make_shared<Imported>();
  std::vector<std::vector<uint64_t>> callees(in.get<uint64_t>());
  for (auto& numbers : callees) imported->programs.push_back(get_program(&in, &numbers));
  INVARIANT(in.is_empty() && !callees.empty());
  for (size_t i = 0; i < callees.size(); ++i) {
    for (uint64_t number : callees[i]) {
      imported->programs[i]->parts().callees.push_back(imported->programs[number].get());
    }
  }
  const Program* statement = imported->programs[0].get();
  return std::shared_ptr<const Program>(std::move(imported), statement);
}

}  // namespace scyper::query
