//! The kernels of a crate that is being tested, and a check that they compile.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::backends::cuda::{compile_for, kernels_in};
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Result};
use crate::base::kernel::KernelInfo;

// Note 49: under `cfg(test)` only.
/// A kernel of this program, as an entry of a list.
#[derive(Debug)]
#[doc(hidden)]
pub struct Registered {
    kernel: &'static KernelInfo,
    next: AtomicPtr<Registered>,
}

/// The kernel that was registered last.
static LAST: AtomicPtr<Registered> = AtomicPtr::new(ptr::null_mut());

impl Registered {
    /// An entry that is not in the list yet.
    pub const fn new(kernel: &'static KernelInfo) -> Self {
        Self { kernel, next: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Puts the entry into the list, once. It allocates nothing and waits for nothing, since it is called
    /// before `main`.
    pub fn register(&'static self) {
        let own = ptr::from_ref(self).cast_mut();
        let mut last = LAST.load(Ordering::Acquire);
        loop {
            self.next.store(last, Ordering::Relaxed);
            match LAST.compare_exchange_weak(last, own, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(other) => last = other,
            }
        }
    }

    /// All entries of the list.
    fn all() -> impl Iterator<Item = &'static Registered> {
        // SAFETY: the list holds null and pointers that `register` has made of `&'static Self`, whose targets
        // live as long as the process and are only read. Whoever loads a pointer sees what was written before
        // it was stored.
        let at = |place: &AtomicPtr<Self>| unsafe { place.load(Ordering::Acquire).as_ref() };
        std::iter::successors(at(&LAST), move |registered| at(&registered.next))
    }
}

/// Registers a kernel before `main`, if its crate is compiled for its own tests.
#[doc(hidden)]
#[macro_export]
macro_rules! __thalweg_register {
    ($kernel:expr) => {
        const _: () = {
            static REGISTERED: $crate::__private::Registered = $crate::__private::Registered::new($kernel);

            extern "C" fn register() {
                REGISTERED.register();
            }

            // SAFETY: the section holds pointers to functions of this type, which the system calls before
            // `main`, each once.
            #[used]
            #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
            #[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
            #[cfg_attr(not(any(target_vendor = "apple", windows)), unsafe(link_section = ".init_array"))]
            static AT_START: extern "C" fn() = register;
        };
    };
}

/// Compiles every kernel of a crate for an architecture, such as `sm_80`, in a unit test of that crate. It
/// needs NVRTC, but no GPU.
///
/// The bodies in a `.cu` are compiled when a pipeline is built on a GPU. This finds their errors on a machine
/// without one. Name the oldest GPU that the program supports.
///
/// ```
/// # use thalweg::prelude::*;
/// #[cfg(test)]
/// mod tests {
///     #[test]
///     fn the_kernels_compile() -> thalweg::Result<()> {
///         thalweg::compile_kernels("sm_80")
///     }
/// }
/// ```
///
/// It compiles the kernels that `#[kernel]` translates and `#[kernels]` declares in the crate that is compiled for the test: those of a
/// library in its unit tests, and those of a file in `tests/` in that file. Outside of tests none is
/// registered. PTX, cubins and fatbins are compiled already.
///
/// # Errors
/// [`Environment`] if NVRTC is missing; the text names its package. [`Compile`] if NVRTC does not know the
/// architecture (the text lists those that it knows), if a source does not compile or lacks a declared
/// kernel, or if no registered kernel would be compiled.
///
/// [`Environment`]: ErrorKind::Environment
/// [`Compile`]: ErrorKind::Compile
#[expect(clippy::test_attr_in_doctest, reason = "the example shows how a test calls it")]
pub fn compile_kernels(architecture: &str) -> Result<()> {
    compile_all(Registered::all().map(|registered| registered.kernel).collect(), architecture)
}

fn compile_all(mut kernels: Vec<&'static KernelInfo>, architecture: &str) -> Result<()> {
    kernels.retain(|kernel| !kernel.module.source.is_image());
    kernels.sort_by_key(|kernel| (kernel.module.file, ptr::from_ref(kernel.module).addr(), kernel.name));
    if kernels.is_empty() {
        return Err(Detail::NoKernels.into());
    }
    for kernels in kernels.chunk_by(|a, b| ptr::eq(a.module, b.module)) {
        let module = kernels[0].module;
        let compiled = compile_for(module, architecture)?;
        let found = kernels_in(&compiled.image);
        for kernel in kernels {
            let name = kernel.instance.map_or(Some(kernel.symbol), |instance| compiled.lowered(instance));
            if !name.is_some_and(|name| found.iter().any(|found| found == name)) {
                return Err(Detail::NoSuchKernel { kernel: kernel.name, file: module.file }.into());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::kernel::KernelModule;

    static CUDA: KernelModule =
        KernelModule::cuda("k.cu", "extern \"C\" __global__ void k(int* x) { *x = 1; }");
    static BROKEN: KernelModule =
        KernelModule::cuda("b.cu", "extern \"C\" __global__ void b(int* x) { *x = y; }");
    static PTX: KernelModule = KernelModule::image("p.ptx", b".version 8.0");
    static K: KernelInfo = KernelInfo::new("k", &CUDA);
    static ABSENT: KernelInfo = KernelInfo::new("absent", &CUDA);
    static B: KernelInfo = KernelInfo::new("b", &BROKEN);
    static P: KernelInfo = KernelInfo::new("p", &PTX);

    #[test]
    fn the_list_holds_each_kernel_once() {
        static FIRST: Registered = Registered::new(&K);
        static SECOND: Registered = Registered::new(&P);
        FIRST.register();
        SECOND.register();
        let names = || Registered::all().map(|registered| registered.kernel.name);
        assert_eq!(names().filter(|name| *name == "k").count(), 1);
        assert_eq!(names().filter(|name| *name == "p").count(), 1);
    }

    #[test]
    fn no_kernel_is_no_pass() {
        for kernels in [vec![], vec![&P]] {
            let error = compile_all(kernels, "sm_80").expect_err("nothing is compiled");
            assert!(matches!(error.detail(), Detail::NoKernels), "{error}");
            assert!(error.to_string().contains("unit test"), "{error}");
        }
    }

    #[test]
    fn no_nvrtc_is_no_pass() {
        match compile_all(vec![&K], "sm_80") {
            Ok(()) => {}
            Err(error) => {
                assert!(matches!(error.detail(), Detail::NoNvrtc { .. }), "{error}");
                assert!(error.to_string().contains("PyPI's `nvidia-cuda-nvrtc`"), "{error}");
            }
        }
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn what_is_wrong_is_found() {
        compile_all(vec![&K, &P], "sm_80").expect("it compiles");
        let error = compile_all(vec![&K, &ABSENT], "sm_80").expect_err("there is no such kernel");
        assert!(matches!(error.detail(), Detail::NoSuchKernel { kernel: "absent", .. }), "{error}");
        let error = compile_all(vec![&K, &B], "sm_80").expect_err("`y` is unknown");
        assert!(matches!(error.detail(), Detail::Compile { file: "b.cu", .. }), "{error}");
    }
}
