// NVRTC has `size_t`, `ptrdiff_t` and `NULL` built in.
#ifndef THALWEG_STDDEF_H
#define THALWEG_STDDEF_H

typedef long double max_align_t;
#if __cplusplus >= 201103L
typedef decltype(nullptr) nullptr_t;
#endif

#ifndef offsetof
#define offsetof(type, member) (::size_t) ((char*) &(((type*) 0)->member) - (char*) 0)
#endif

#endif
