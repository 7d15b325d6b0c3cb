//! `#[kernels]`: declarations against sources, what they expand to, what is said of those that are wrong.

mod any_source;
mod branches;
mod compared;
#[path = "../common/declared.rs"]
mod declared;
mod expanded;
mod floors;
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
mod sources;
mod tokens;
mod toolkit_types;
mod types;
mod written;
