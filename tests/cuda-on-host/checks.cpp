// What GCC calls where a text does what C++ leaves undefined: the launch ends with an error. On a GPU a
// compiler may have made anything of it.

#include "core.h"

namespace {

// As GCC writes it: the first member of what it tells about each place.
struct Location {
    const char* file;
    uint32_t line, column;
};

[[noreturn]] void undefined(const char* what, const Location* at) {
    // The file may be missing where the compiler has no place to tell.
    on_host::fail("undefined in C++: %s in %s:%u:%u", what, at->file == nullptr ? "?" : at->file, at->line,
                  at->column);
}

}  // namespace

#define CHECK(name, what) \
    extern "C" void __ubsan_handle_##name(const Location* at) { undefined(what, at); }

CHECK(add_overflow, "a sum that overflows")
CHECK(sub_overflow, "a difference that overflows")
CHECK(mul_overflow, "a product that overflows")
CHECK(negate_overflow, "a negation that overflows")
CHECK(divrem_overflow, "a division by zero or one that overflows")
CHECK(shift_out_of_bounds, "a shift that is too far, negative, or of a sign")
CHECK(out_of_bounds, "an index outside of its array")
CHECK(type_mismatch_v1, "a null or misaligned pointer, or one to another type")
CHECK(load_invalid_value, "a `bool` that is neither true nor false")
CHECK(float_cast_overflow, "a cast of a number that the type does not hold")
CHECK(pointer_overflow, "a pointer that overflows")
CHECK(builtin_unreachable, "a place that is said not to be reached")
CHECK(missing_return, "a function that ends without its value")
CHECK(nonnull_arg, "a null argument")
CHECK(invalid_builtin, "a count of zeros of zero")
