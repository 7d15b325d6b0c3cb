//! Kernel sources, compiled or taken from the [`cache`](super::cache).

use std::sync::atomic::{AtomicU64, Ordering};

use super::cache::Cache;
use super::compiled::Compiled;
use super::headers::Includes;
use super::key::Key;
use super::nvrtc::{self, Compiler};
use crate::base::error::{Detail, Result};
use crate::base::events;
use crate::base::kernel::KernelModule;

/// The number of times that this process has had NVRTC compile a source.
static COMPILATIONS: AtomicU64 = AtomicU64::new(0);

/// The number of times that this process has had NVRTC compile a source.
#[doc(hidden)]
pub fn compilations() -> u64 {
    COMPILATIONS.load(Ordering::Relaxed)
}

/// A kernel source for a real architecture (`sm_90`) as a cubin, or for a virtual one (`compute_90`) as PTX.
/// It comes from the cache, or is compiled.
///
/// # Errors
/// NVRTC is missing or too old, an option is not possible, others may write into the cache's folder, or the
/// source does not compile.
#[doc(hidden)]
pub fn compile_for(module: &KernelModule, architecture: &str) -> Result<Compiled> {
    let Some(source) = module.source.cuda() else {
        let (file, reason) = (module.file, "it is compiled already".to_owned());
        return Err(Detail::InvalidImage { file, reason, log: String::new() }.into());
    };
    let compiler = Compiler::get(module.file)?;
    check_options(module)?;
    let source: &str = &source;
    let includes = Includes::follow(module, source);
    let cache = if includes.are_known() { Cache::get()? } else { None };
    let key = cache.as_ref().map(|_| key(module, source, architecture, &includes, &compiler));
    if let (Some(cache), Some(key)) = (&cache, &key)
        && let Some(compiled) = cache.load(key)
    {
        events::compiled(module.file, architecture, true);
        return Ok(compiled);
    }
    COMPILATIONS.fetch_add(1, Ordering::Relaxed);
    let compiled = nvrtc::compile(&compiler, module, source, architecture, &includes)?;
    events::compiled(module.file, architecture, false);
    if let (Some(cache), Some(key)) = (&cache, &key) {
        cache.store(key, &compiled);
    }
    Ok(compiled)
}

/// The key of everything that the compiler's result depends on.
fn key(
    module: &KernelModule,
    source: &str,
    architecture: &str,
    includes: &Includes,
    compiler: &Compiler,
) -> Key {
    let KernelModule { file, source: _, path, headers, include, options, instances } = module;
    let mut key = Key::new();
    key.text(architecture).bytes(&compiler.identity());
    key.text(file).text(path).text(source);
    key.list(headers.iter().flat_map(|header| [header.path, header.text]));
    key.list(include.iter().copied()).list(options.iter().copied()).list(instances.iter().copied());
    includes.identify(&mut key);
    key
}

/// Refuses options whose result could not be loaded, or not be recognised in the cache.
fn check_options(module: &KernelModule) -> Result<()> {
    const ARCHITECTURE: &str = "the architecture is that of the device at hand";
    const LINKED: &str = "the result would have to be linked before it can be loaded";
    const NO_CODE: &str = "no code would be made";
    const FILES: &str = "it takes what decides the result from files that may change unseen";
    for &option in module.options {
        let name = option.trim().trim_start_matches('-');
        let (name, value) = name.split_once(['=', ' ']).unwrap_or((name, ""));
        let reason = match name {
            "gpu-architecture" | "arch" | "gpu-code" | "code" | "generate-code" | "gencode" => ARCHITECTURE,
            "relocatable-device-code" | "rdc" | "extensible-whole-program" | "ewp" if value != "false" => {
                LINKED
            }
            "dlink-time-opt" | "dlto" | "gen-opt-lto" | "device-c" | "dc" => LINKED,
            "fdevice-syntax-only" | "optix-ir" => NO_CODE,
            "pch" | "create-pch" | "use-pch" | "options-file" | "optf" => FILES,
            _ => continue,
        };
        return Err(Detail::CompileOption { file: module.file, option, reason }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_break_the_load_are_refused() {
        for option in [
            "-arch=sm_80",
            "--gpu-architecture compute_90",
            "-dlto",
            "--relocatable-device-code=true",
            "-rdc true",
            "--fdevice-syntax-only",
            "--use-pch=x",
        ] {
            let options: &'static [&'static str] = vec!["-DN=1", option].leak();
            let error = check_options(&KernelModule::cuda("k.cu", "").options(options)).expect_err(option);
            let said = format!("`k.cu` cannot be compiled with `{option}`: ");
            assert!(error.to_string().starts_with(&said), "{error}");
        }
        let module = KernelModule::cuda("k.cu", "").options(&["--use_fast_math", "-DARCH=1", "-rdc=false"]);
        check_options(&module).expect("nothing is wrong with these");
    }
}
