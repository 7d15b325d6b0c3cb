// NVRTC has `assert` built in. `NDEBUG` counts where this is included, each time.
#ifdef NDEBUG
#undef assert
#define assert(e) (static_cast<void>(0))
#endif
