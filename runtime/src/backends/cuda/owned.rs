//! Folders that are the user's own, so that only this user has written the files in them.

use std::fs::{self, DirBuilder, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::base::error::{Detail, Result};

/// Resolves the links in a path to a folder, which is created if it does not exist. `None` if that fails.
///
/// # Errors
/// The folder belongs to another user, or other users may write into it or replace it.
pub(super) fn folder(path: &Path) -> Result<Option<PathBuf>> {
    // The links are resolved once, so a link that changes later does not affect the folder that is checked
    // and used.
    let Ok(folder) = create(path).and_then(|()| path.canonicalize()) else { return Ok(None) };
    match refusal(&folder) {
        Ok(None) => Ok(Some(folder)),
        Ok(Some((reason, help))) => {
            let folder = folder.display().to_string();
            Err(Detail::CacheFolder { folder, reason, help }.into())
        }
        Err(_) => Ok(None),
    }
}

/// Makes the folder, and the missing folders above it, for this user alone.
pub(super) fn create(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Whether a file belongs to this user, and nobody else may write it.
pub(super) fn is_own(file: &Metadata) -> bool {
    rights::another_owner(file).is_none() && !rights::others_may_write(file)
}

/// The reason why other users can change the content of a folder, and the remedy. `None` if they cannot.
fn refusal(folder: &Path) -> io::Result<Option<(String, String)>> {
    let data = fs::metadata(folder)?;
    if let Some((owner, user)) = rights::another_owner(&data) {
        let reason = format!("it belongs to user {owner}, and this process is user {user}'s");
        return Ok(Some((reason, "`THALWEG_CACHE` names another folder".to_owned())));
    }
    if rights::others_may_write(&data) {
        let help = format!(
            "delete it, or take what others have written out of it and then `chmod go-w {}`",
            folder.display()
        );
        return Ok(Some((format!("others may write into it (mode {:o})", rights::mode(&data)), help)));
    }
    // A user who may write into a folder above can move this one away and put another one in its place,
    // unless the folder above is sticky, as `/tmp` is.
    for above in folder.ancestors().skip(1) {
        let data = fs::metadata(above)?;
        if rights::all_may_replace(&data) {
            let above = above.display();
            let reason = format!("everybody may move it, since `{above}` has mode {:o}", rights::mode(&data));
            return Ok(Some((reason, format!("`chmod o-w {above}` or `chmod +t {above}`"))));
        }
    }
    Ok(None)
}

#[cfg(unix)]
mod rights {
    use std::fs::Metadata;
    use std::os::unix::fs::MetadataExt;

    /// The owner and this process's user, if they differ.
    pub(super) fn another_owner(data: &Metadata) -> Option<(u32, u32)> {
        let user = rustix::process::geteuid().as_raw();
        (data.uid() != user).then_some((data.uid(), user))
    }

    /// Whether the group or everybody may write. With an access control list, these bits are the most it
    /// grants.
    pub(super) fn others_may_write(data: &Metadata) -> bool {
        data.mode() & 0o022 != 0
    }

    pub(super) fn all_may_replace(data: &Metadata) -> bool {
        data.mode() & 0o1002 == 0o002
    }

    pub(super) fn mode(data: &Metadata) -> u32 {
        data.mode() & 0o7777
    }
}

/// On other systems nothing is checked, since the folder is in the user's own profile.
#[cfg(not(unix))]
mod rights {
    use std::fs::Metadata;

    pub(super) fn another_owner(_: &Metadata) -> Option<(u32, u32)> {
        None
    }

    pub(super) fn others_may_write(_: &Metadata) -> bool {
        false
    }

    pub(super) fn all_may_replace(_: &Metadata) -> bool {
        false
    }

    pub(super) fn mode(_: &Metadata) -> u32 {
        0
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("a folder").permissions().mode() & 0o7777
    }

    /// The text of the error for a folder that is refused.
    fn said(path: &Path) -> String {
        folder(path).expect_err("others have a say").to_string()
    }

    fn temporary() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().canonicalize().expect("its path");
        (folder, path)
    }

    #[test]
    fn what_is_made_is_the_users_alone() {
        let (_kept, temporary) = temporary();
        let path = temporary.join("a/b");
        assert_eq!(folder(&path).expect("our own"), Some(path.clone()));
        assert_eq!([mode(&path), mode(&temporary.join("a"))], [0o700; 2]);
        // Others may read the folder.
        for mode in [0o755, 0o711, 0o700] {
            set_mode(&path, mode);
            assert_eq!(folder(&path).expect("our own"), Some(path.clone()));
        }
    }

    #[test]
    fn a_folder_where_others_may_write_is_refused() {
        let (_kept, temporary) = temporary();
        let path = temporary.join("cache");
        fs::create_dir(&path).expect("a folder");
        for mode in [0o770, 0o702, 0o777, 0o1777, 0o720] {
            set_mode(&path, mode);
            let said = said(&path);
            let first = format!(
                "`{}` cannot hold compiled kernels: others may write into it (mode {mode:o})\n",
                path.display()
            );
            assert!(
                said.starts_with(&first) && said.contains("chmod go-w") && said.contains("THALWEG_CACHE"),
                "{said}"
            );
        }
    }

    #[test]
    fn a_folder_that_everybody_may_move_is_refused() {
        let (_kept, temporary) = temporary();
        let path = temporary.join("a/b");
        assert!(folder(&path).expect("our own").is_some());
        set_mode(&temporary, 0o777);
        let said = said(&path);
        assert!(said.contains(&format!("since `{}` has mode 777", temporary.display())), "{said}");
        // The folder is sticky, as `/tmp` is.
        set_mode(&temporary, 0o1777);
        assert!(folder(&path).expect("our own").is_some());
        // A group may write into a folder above, such as a project's.
        set_mode(&temporary, 0o775);
        assert!(folder(&path).expect("our own").is_some());
    }

    #[test]
    fn a_link_is_as_good_as_what_it_leads_to() {
        let (_kept, temporary) = temporary();
        let [own, open, link] = ["own", "open", "link"].map(|name| temporary.join(name));
        assert!(folder(&own).expect("our own").is_some() && folder(&open).expect("our own").is_some());
        set_mode(&open, 0o777);
        symlink(&own, &link).expect("a link");
        assert_eq!(folder(&link).expect("our own"), Some(own));
        fs::remove_file(&link).expect("the link goes");
        symlink(&open, &link).expect("a link");
        assert!(said(&link).starts_with(&format!("`{}` cannot", open.display())));
        fs::remove_file(&link).expect("the link goes");
        symlink(temporary.join("nowhere"), &link).expect("a link");
        assert_eq!(folder(&link).expect("no error"), None);
    }

    /// Only root can give a folder away. Other users test with the root of the file system, which belongs to
    /// root.
    #[test]
    fn another_users_folder_is_refused() {
        let (_kept, temporary) = temporary();
        let user = rustix::process::geteuid();
        let path = temporary.join("cache");
        fs::create_dir(&path).expect("a folder");
        if user.is_root() {
            let file = path.join("file");
            fs::write(&file, "").expect("a file");
            set_mode(&file, 0o600);
            assert!(is_own(&fs::metadata(&file).expect("the file")));
            for path in [&file, &path] {
                chown(path, Some(65534), None).expect("another's");
            }
            assert!(!is_own(&fs::metadata(&file).expect("the file")));
        }
        let path = if user.is_root() { path } else { PathBuf::from("/") };
        let owner = if user.is_root() { 65534 } else { 0 };
        let said = said(&path);
        let first = format!(
            "`{}` cannot hold compiled kernels: it belongs to user {owner}, and this process is user {}'s\n",
            path.display(),
            user.as_raw()
        );
        assert!(said.starts_with(&first) && said.contains("THALWEG_CACHE"), "{said}");
    }
}
