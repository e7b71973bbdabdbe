//! Output files of commands.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::Complaint;

/// Checks that an output path's directory exists and that the path is not a pipe, socket or block device.
pub fn require_place(file: &Path) -> Result<(), Complaint> {
    // Opening a pipe waits for its reader. `/dev/stdout` is a link, so it passes.
    if let Ok(found) = file.symlink_metadata().map(|it| it.file_type())
        && (found.is_fifo() || found.is_socket() || found.is_block_device())
    {
        let file = file.display();
        let title = format!("cannot write {file}: it is a pipe, a socket or a disk");
        return Err(Complaint::new(title).with_help("name a file"));
    }
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            let (file, folder) = (file.display(), folder.display());
            let title = format!("cannot write {file}: there is no folder {folder}");
            Err(Complaint::new(title).with_help("make the folder, or name another file"))
        }
        _ => Ok(()),
    }
}
