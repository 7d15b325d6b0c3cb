//! The name of the host on which this process runs.

use crate::ranks::text::cut;

/// The name of this host.
pub(in crate::ranks) fn host_name() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    // A name has 64 bytes at most on Linux. Others see no more than 255 of it.
    if name.is_empty() { "localhost".to_owned() } else { cut(&name, 255).to_owned() }
}
