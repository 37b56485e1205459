#include <memory>

#include "compile/image_io.h"

namespace scyper::query {

namespace {

// A field that is added to one of these has to be added below too.
static_assert(sizeof(Role) == 104);
static_assert(sizeof(Access) == 32);

template <typename IO>
void walk(IO& io, Role& role) {
  io.number(role.id);
  io.text(role.name);
  for (bool Role::* field : {&Role::is_superuser, &Role::can_login, &Role::inherits, &Role::creates_roles,
                             &Role::creates_databases, &Role::is_replication, &Role::bypasses_rls})
    walk_bool(io, role.*field);
  io.number(role.connections_max);
  io.text(role.verifier);
  bool is_limited = role.valid_until.has_value();
  walk_bool(io, is_limited);
  if (!is_limited) return;
  int64_t until = role.valid_until.value_or(0);
  io.number(until);
  role.valid_until = until;
}

template <typename IO>
void walk(IO& io, Access& access) {
  io.number(access.owner);
  walk_bool(io, access.is_default);
  access.grants.resize(io.count(access.grants.size()));
  for (Access::Grant& grant : access.grants) {
    io.number(grant.grantee);
    io.number(grant.grantor);
    io.number(grant.privileges);
    io.number(grant.grantable);
  }
}

}  // namespace

struct RolesImage {
  static void encode(ImageWriter* out, Roles& roles) {
    out->number(roles.next_id_);
    out->count(roles.by_name_.size());
    for (const auto& [name, role] : roles.by_name_) {
      Role written = *role;
      walk(*out, written);
    }
    out->count(roles.members_.size());
    for (const auto& [key, membership] : roles.members_) {
      uint32_t role = key.first, member = key.second, grantor = membership.grantor;
      bool has_admin_option = membership.has_admin_option;
      out->number(role);
      out->number(member);
      out->number(grantor);
      walk_bool(*out, has_admin_option);
    }
  }
  static void decode(ImageReader* in, Roles* roles) {
    in->number(roles->next_id_);
    const uint32_t count = in->count(0);
    for (uint32_t i = 0; i < count && in->ok(); ++i) {
      Role role;
      walk(*in, role);
      roles->put(std::move(role));
    }
    const uint32_t members = in->count(0);
    for (uint32_t i = 0; i < members && in->ok(); ++i) {
      uint32_t role = 0, member = 0;
      Roles::Membership membership;
      in->number(role);
      in->number(member);
      in->number(membership.grantor);
      walk_bool(*in, membership.has_admin_option);
      roles->add_member(role, member, membership);
    }
  }
};

// In the order of the maps, which the objects have been read into.
void encode_access(ImageWriter* out, Catalog* catalog) {
  RolesImage::encode(out, catalog->roles);
  for (const auto& [name, table] : catalog->tables) walk(*out, catalog->rules[table->schema().id].access);
  for (const auto& [name, routine] : catalog->routines) {
    Access access = routine->access;
    bool is_definer = routine->is_definer;
    walk(*out, access);
    walk_bool(*out, is_definer);
  }
  for (const auto& [name, view] : catalog->views) {
    Access access = view->access;
    walk(*out, access);
  }
  out->count(catalog->schema_access.size());
  for (auto& [name, access] : catalog->schema_access) {
    std::string key = name;
    out->text(key);
    walk(*out, access);
  }
}

void encode_sequence_access(ImageWriter* out, const Catalog& catalog) {
  for (const auto& [name, sequence] : catalog.sequences) {
    Access access = sequence_access_of(catalog, sequence->definition().id);
    walk(*out, access);
  }
}

void decode_sequence_access(ImageReader* in, Catalog* catalog) {
  for (const auto& [name, sequence] : catalog->sequences) {
    Access access;
    walk(*in, access);
    catalog->sequence_access[sequence->definition().id] = std::move(access);
  }
}

void inherit_sequence_owners(Catalog* catalog) {
  for (const auto& [name, sequence] : catalog->sequences)
    if (auto rules = catalog->rules.find(sequence->definition().owner); rules != catalog->rules.end())
      catalog->sequence_access[sequence->definition().id].owner = rules->second.access.owner;
}

void decode_access(ImageReader* in, Catalog* catalog) {
  RolesImage::decode(in, &catalog->roles);
  for (const auto& [name, table] : catalog->tables) walk(*in, catalog->rules[table->schema().id].access);
  for (auto& [name, routine] : catalog->routines) {
    auto read = std::make_shared<Routine>(*routine);
    walk(*in, read->access);
    walk_bool(*in, read->is_definer);
    routine = std::move(read);
  }
  for (auto& [name, view] : catalog->views) {
    auto read = std::make_shared<View>(*view);
    walk(*in, read->access);
    view = std::move(read);
  }
  const uint32_t schemas = in->count(0);
  for (uint32_t i = 0; i < schemas && in->ok(); ++i) {
    std::string name;
    in->text(name);
    walk(*in, catalog->schema_access[name]);
  }
}

namespace {
template <typename IO>
void walk_options(IO& io, View& view) {
  io.number(view.check_option);
  walk_bool(io, view.is_invoker);
}
}  // namespace

void encode_view_options(ImageWriter* out, const Catalog& catalog) {
  for (const auto& [name, view] : catalog.views) {
    View written = *view;
    walk_options(*out, written);
  }
}

bool decode_view_options(ImageReader* in, Catalog* catalog) {
  for (auto& [name, view] : catalog->views) {
    auto read = std::make_shared<View>(*view);
    walk_options(*in, *read);
    if (!in->ok() || read->check_option > CheckOption::kCascaded) return false;
    view = std::move(read);
  }
  return true;
}

void encode_database(ImageWriter* out, const DatabaseDefinition& database) {
  std::string name = database.name;
  out->text(name);
  out->count(database.settings.size());
  for (const auto& [key, settings] : database.settings) {
    uint32_t role = key.first;
    bool is_here = key.second;
    out->number(role);
    walk_bool(*out, is_here);
    out->count(settings.size());
    for (auto [setting, value] : settings) {
      out->text(setting);
      out->text(value);
    }
  }
}

void decode_database(ImageReader* in, DatabaseDefinition* database) {
  in->text(database->name);
  const uint32_t keys = in->count(0);
  for (uint32_t i = 0; i < keys && in->ok(); ++i) {
    DatabaseDefinition::Key key;
    in->number(key.first);
    walk_bool(*in, key.second);
    InitialSettings& settings = database->settings[key];
    settings.resize(in->count(0));
    for (auto& [setting, value] : settings) {
      in->text(setting);
      in->text(value);
    }
  }
}

}  // namespace scyper::query
