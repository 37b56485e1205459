"""A header names what it uses of the precompiled header's headers: the house programs compile with it and cannot tell."""

import os
import re
import sys

import lengths
import tree
from includes import INCLUDE

# Header of SCYPER_PCH (cmake/Scyper.cmake) -> what only it is sure to give.
STD = r"\bstd::(?:ranges::)?"
NAMES = {
    "algorithm": STD + r"(sort|stable_sort|partial_sort|nth_element|min|max|clamp|minmax|minmax_element|min_element|"
                 r"max_element|find|find_if|find_if_not|any_of|all_of|none_of|for_each|count|count_if|copy|copy_n|"
                 r"copy_if|fill|fill_n|equal|lower_bound|upper_bound|equal_range|binary_search|remove_if|reverse|rotate|"
                 r"unique|transform|generate|is_sorted|partition|merge|mismatch|search|lexicographical_compare|"
                 r"push_heap|pop_heap|make_heap|includes|set_union|set_difference)\(",
    "atomic": STD + r"(atomic|atomic_\w+|memory_order\w*)\b",
    "bit": STD + r"(bit_cast|bit_width|bit_ceil|bit_floor|countl_zero|countr_zero|countl_one|countr_one|popcount|rotl|rotr|"
           r"has_single_bit|endian)\b",
    "chrono": STD + r"chrono::",
    "condition_variable": STD + r"condition_variable",
    "cstddef": STD + r"(byte|nullptr_t|max_align_t)\b|\boffsetof\(",
    "cstdint": r"\bu?int(8|16|32|64|ptr)_t\b|\bU?INT(8|16|32|64)_MAX\b",
    "cstring": r"\b(memcpy|memcmp|memset|memmove|memchr|memmem|strlen|strcmp|strerror)\(",
    "deque": STD + r"deque\b",
    "functional": STD + r"(function|hash|less|greater|equal_to|plus|ref|cref|bind_front|invoke|reference_wrapper|identity)\b",
    "limits": STD + r"numeric_limits\b",
    "map": STD + r"(multi)?map\b",
    "memory": STD + r"(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared|make_unique_for_overwrite|"
              r"enable_shared_from_this|allocator|addressof|construct_at|destroy_at)\b",
    "mutex": STD + r"(mutex|recursive_mutex|lock_guard|unique_lock|scoped_lock|once_flag|call_once)\b",
    "optional": STD + r"(optional|nullopt)\b",
    "set": STD + r"(multi)?set\b",
    "span": STD + r"(span|as_bytes|as_writable_bytes|dynamic_extent)\b",
    "string": STD + r"(string|to_string|u16string|stoi|stol|stod|stoull|getline|char_traits)\b",
    "string_view": STD + r"string_view\b",
    "thread": STD + r"(thread|jthread|this_thread)\b",
    "unordered_map": STD + r"unordered_(multi)?map\b",
    "utility": STD + r"(move|forward|exchange|swap|pair|make_pair|in_place|in_place_t|index_sequence|make_index_sequence|"
               r"piecewise_construct|to_underlying|cmp_\w+|as_const|declval)\b",
    "variant": STD + r"(variant|visit|monostate|get_if|holds_alternative)\b",
    "vector": STD + r"vector\b",
    "absl/status/status.h": r"\babsl::(Status\b|StatusCode|OkStatus|\w+Error\()",
    "absl/status/statusor.h": r"\babsl::StatusOr\b",
    "absl/strings/str_cat.h": r"\babsl::(StrCat|StrAppend|Hex|Dec|AlphaNum)\b",
}
# Standard headers that the standard has give others' names (functions' parameters and results).
GIVEN = {"string_view": {"string"}, "cstddef": {"cstring"}, "utility": {"map", "unordered_map", "algorithm", "optional"},
         "absl/status/status.h": {"absl/status/statusor.h"}}


def precompiled(root):
    """The foreign headers of SCYPER_PCH."""
    found = re.search(r"set\(SCYPER_PCH ([^)]*)\)", tree.read(root, "cmake/Scyper.cmake"))
    return re.findall(r"<([^>]+)>", found.group(1))


class Headers:
    def __init__(self, root):
        self.root = root
        self.headers = set(tree.files(root, ".h"))
        self.texts = {path: tree.read(root, path) for path in self.headers}
        self.reached_by = {}

    def find(self, path, name):
        """The project's header that `path` means by "name"; None: a foreign one."""
        folder = path.split("/")[0]
        first = name.split("/")[0]
        places = (os.path.join(os.path.dirname(path), name), os.path.join(folder, name),
                  os.path.join(first, "include", name), name)
        return next((place for place in places if place in self.headers), None)

    def reached(self, path):
        """The foreign headers that `path` includes, by itself or by another of ours."""
        if path not in self.reached_by:
            found = self.reached_by[path] = set()
            for _, name in INCLUDE.findall(self.texts[path]):
                ours = self.find(path, name)
                found |= {name} if ours is None else self.reached(ours)
        return self.reached_by[path]

    def problems(self):
        for name in precompiled(self.root):
            if name not in NAMES:
                yield f"cmake/Scyper.cmake: nothing is known of <{name}> here"
        for path in sorted(self.headers):
            if path.split("/")[0] not in tree.FOLDERS:
                continue
            code = lengths.blank(self.texts[path])
            for name, pattern in NAMES.items():
                used = re.search(pattern, code)
                if used and not ({name} | GIVEN.get(name, set())) & self.reached(path):
                    yield f"{path}: {used.group(0).rstrip('(')} without <{name}>"


if __name__ == "__main__":
    tree.finish(list(Headers(sys.argv[1]).problems()), "a header includes what it uses (tools/checks/precompiled.py)")
