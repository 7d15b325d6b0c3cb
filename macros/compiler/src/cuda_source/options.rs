//! The options of NVRTC that matter before it compiles.

/// `TILE=16` of `-DTILE=16`, and of its other spellings.
pub(super) fn definition(option: &str) -> Option<&str> {
    let option = option.trim();
    let definition = option
        .strip_prefix("--define-macro=")
        .or_else(|| option.strip_prefix("--define-macro "))
        .or_else(|| option.strip_prefix("-D"))?;
    Some(definition.trim_start_matches('=').trim_start())
}

/// Whether the options make functions without a mark the device's.
pub(super) fn is_default_device(options: &[String]) -> bool {
    let is_it = |option: &str| matches!(option, "-default-device" | "--device-as-default-execution-space");
    options.iter().any(|option| is_it(option.trim()))
}

/// Whether the options leave code to be linked, which launches by kernels need.
pub(super) fn is_relocatable(options: &[String]) -> bool {
    let is_it = |option: &str| match option.split_once('=') {
        Some((name, value)) => matches!(name, "-rdc" | "--relocatable-device-code") && value == "true",
        None => matches!(option, "-dc" | "--device-c"),
    };
    options.iter().any(|option| is_it(option.trim()))
}

/// Whether an option of NVRTC's names a file that comes before the source.
pub(super) fn includes(option: &str) -> bool {
    let option = option.trim_start().trim_start_matches('-');
    option.starts_with("include") || option.starts_with("pre-include")
}
