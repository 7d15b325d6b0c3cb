//! `#[kernels]`, `#[kernel]` and `#[device]`: declarations against sources, what they expand to, and the errors for those that are wrong.

mod any_source;
mod branches;
mod compared;
#[path = "../common/declared.rs"]
mod declared;
mod divided;
#[allow(dead_code, reason = "kernels have no warnings")]
#[path = "../common/emitted.rs"]
mod emitted;
mod expanded;
mod floors;
mod from_cuda;
mod host;
mod images;
mod includes;
mod launches;
mod mistakes;
mod mutations;
mod odd_sources;
#[path = "../common/page.rs"]
mod page;
mod prototype;
mod records;
mod rounds;
mod rust_kernels;
mod sources;
mod tokens;
mod toolkit_types;
mod types;
mod within;
mod written;
