//! A chapter of the tutorial shows the imports of its listings, before anything that needs them.

use super::blocks::blocks;
use super::root;

#[test]
fn every_chapter_shows_its_imports_first() {
    let pages = root().join("book/src/tutorial");
    let programs = root().join("tests/tests/tutorial");
    let mut chapters = Vec::new();
    for block in blocks().iter().filter(|block| block.kind == "rust,ignore" && block.page.starts_with(&pages))
    {
        let parts = block.included();
        // The kernel has imports of its own, and generated code needs none.
        let is_chapters = parts[0].path.starts_with(&programs) && !parts[0].path.ends_with("kernel.rs");
        if !is_chapters || chapters.contains(&block.page) {
            continue;
        }
        chapters.push(block.page.clone());
        let first = parts[0].text();
        let imports = first.lines().filter(|line| line.starts_with("use ")).count();
        assert!(imports > 0, "{} begins with no imports:\n{first}", block.page.display());
    }
    assert_eq!(chapters.len(), 16, "{chapters:?}");
}
