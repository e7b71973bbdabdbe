//! Batch scripts for `sbatch`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::super::JobFolder;

/// Exit code of a probe that does not see the sweep's folder.
pub const NOT_SHARED: i32 = 66;
/// Exit code of a probe that cannot execute xoff.
pub const NO_EXECUTABLE: i32 = 67;
/// Max wait of a probe for a folder that was just created, in seconds. NFS clients cache the folder's absence.
const PATIENCE: u32 = 15;

/// A user's request to Slurm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Name of the job.
    pub name: String,
    /// Partition; `None` is the cluster's default.
    pub partition: Option<String>,
    /// Time limit of a task, in Slurm's format.
    pub time: Option<String>,
    /// Processors per task; a task executes this many runs in parallel.
    pub cpus: usize,
    /// Memory per task, in Slurm's format.
    pub memory: Option<String>,
    /// Options for `sbatch`; they override all others.
    pub options: Vec<String>,
}

impl Request {
    /// Returns the options of `sbatch` for a task's resources, with their values.
    pub(super) fn resources(&self) -> Vec<(&'static str, String)> {
        let optional =
            [("partition", &self.partition), ("time", &self.time), ("mem", &self.memory)];
        let mut options = vec![("cpus-per-task", self.cpus.to_string())];
        options.extend(
            optional.into_iter().filter_map(|(option, value)| Some((option, value.clone()?))),
        );
        options
    }
}

/// Command line of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The executable.
    pub executable: PathBuf,
    /// Arguments before the task's own arguments.
    pub arguments: Vec<String>,
    /// The working folder.
    pub folder: PathBuf,
}

impl Call {
    fn probe_script(&self, job: &JobFolder, request: &Request) -> String {
        // Output is discarded, because its folder may not be visible. The probe requests the resources of a task, so
        // that Slurm refuses at once a request that no node can satisfy: it does not check jobs that wait for another
        // one.
        let mut text = self.head(request, Path::new("/dev/null"));
        let mark = quoted(&job.path().join(job.mark()).to_string_lossy());
        let executable = quoted(&self.executable.to_string_lossy());
        write!(
            text,
            "\n# A new folder may take a while to be seen.\n\
             seconds=0\n\
             until [ -e {mark} ]; do\n    \
                 [ $seconds -lt {PATIENCE} ] || exit {NOT_SHARED}\n    \
                 seconds=$((seconds + 1))\n    \
                 sleep 1\n\
             done\n\
             [ -x {executable} ] || exit {NO_EXECUTABLE}\n\
             {} probe\n",
            self.line(job)
        )
        .expect("a String takes every write");
        text
    }

    fn tasks_script(&self, job: &JobFolder, request: &Request, tasks: usize) -> String {
        let log = job.path().join("task-%a.log");
        let mut text = self.head(request, &log);
        let shown = self.executable.display();
        let gone = quoted(&format!(
            "error: {shown} cannot be executed any more: put it back, and the same command submits the rest"
        ));
        let executable = quoted(&self.executable.to_string_lossy());
        write!(
            text,
            "#SBATCH --array=0-{}\n#SBATCH --open-mode=append\n\n\
             [ -x {executable} ] || {{ echo {gone}; exit {NO_EXECUTABLE}; }}\n\
             {} \"$SLURM_ARRAY_TASK_ID\"\n",
            tasks.saturating_sub(1),
            self.line(job)
        )
        .expect("a String takes every write");
        text
    }

    /// Returns the scripts of the probe and of the tasks.
    pub(super) fn scripts(&self, job: &JobFolder, request: &Request, tasks: usize) -> [String; 2] {
        [self.probe_script(job, request), self.tasks_script(job, request, tasks)]
    }

    fn head(&self, request: &Request, log: &Path) -> String {
        let (name, folder) = (&request.name, self.folder.to_string_lossy());
        // In names of logs, Slurm expands `%`. The `%a` added here comes last.
        let log = log.to_string_lossy();
        let log = match log.strip_suffix("%a.log") {
            Some(start) => format!("{}%a.log", start.replace('%', "%%")),
            None => log.into_owned(),
        };
        let fixed = [("job-name", name.as_str()), ("output", &log), ("chdir", &folder)];
        let fixed = fixed.map(|(option, value)| (option, value.to_owned()));
        let mut text = "#!/bin/sh\n".to_owned();
        for (option, value) in request.resources().into_iter().chain(fixed) {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"");
            writeln!(text, "#SBATCH --{option}=\"{value}\"").expect("a String takes every write");
        }
        text
    }

    fn line(&self, job: &JobFolder) -> String {
        let executable = self.executable.to_string_lossy();
        let words = std::iter::once(executable.as_ref())
            .chain(self.arguments.iter().map(String::as_str))
            .map(quoted);
        let words: Vec<String> = words.collect();
        format!("exec {} --job {} --task", words.join(" "), job.number)
    }
}

/// Quotes a word for the shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn call() -> Call {
        Call {
            executable: "/opt/my xoff/xoff".into(),
            arguments: ["sweep", "/home/a/it's.toml", "--out", "/home/a/50%"]
                .map(str::to_owned)
                .into(),
            folder: "/home/a".into(),
        }
    }

    #[test]
    fn tasks_run_what_they_were_dealt() {
        let job = JobFolder::new(Path::new("/home/a/50%/jobs"), 3);
        let request = Request {
            name: "it's".into(),
            partition: Some("long".into()),
            time: Some("1:30:00".into()),
            cpus: 4,
            memory: Some("2G".into()),
            options: Vec::new(),
        };
        assert_snapshot!(call().tasks_script(&job, &request, 42), @r#"
        #!/bin/sh
        #SBATCH --cpus-per-task="4"
        #SBATCH --partition="long"
        #SBATCH --time="1:30:00"
        #SBATCH --mem="2G"
        #SBATCH --job-name="it's"
        #SBATCH --output="/home/a/50%%/jobs/3/task-%a.log"
        #SBATCH --chdir="/home/a"
        #SBATCH --array=0-41
        #SBATCH --open-mode=append

        [ -x '/opt/my xoff/xoff' ] || { echo 'error: /opt/my xoff/xoff cannot be executed any more: put it back, and the same command submits the rest'; exit 67; }
        exec '/opt/my xoff/xoff' sweep '/home/a/it'\''s.toml' --out '/home/a/50%' --job 3 --task "$SLURM_ARRAY_TASK_ID"
        "#);
    }

    #[test]
    fn the_probe_says_by_its_exit_code_what_a_task_lacks() {
        use std::process::Command;

        let temp = tempfile::tempdir().unwrap();
        let job = JobFolder::claim(temp.path(), None).unwrap().unwrap();
        let request = Request { cpus: 1, ..Request::default() };
        let run = |executable: &str| {
            let call = Call { executable: executable.into(), ..call() };
            let script = call.probe_script(&job, &request).replace("sleep 1", ":");
            Command::new("sh").args(["-c", &script]).status().unwrap().code()
        };
        let (mark, hidden) = (job.path().join(job.mark()), job.path().join("hidden"));
        std::fs::rename(&mark, &hidden).unwrap();
        assert_eq!(run("/bin/true"), Some(NOT_SHARED));
        std::fs::rename(&hidden, &mark).unwrap();
        assert_eq!(run("/no/such/program"), Some(NO_EXECUTABLE));
        assert_eq!(run("/bin/true"), Some(0));
        assert_eq!(run("/bin/false"), Some(1));
    }
}
