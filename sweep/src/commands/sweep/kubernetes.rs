//! `xoff sweep --manifest kubernetes`.

use std::iter;
use std::num::NonZeroUsize;
use std::path::{Path, absolute};

use results::counted;

use super::super::{Exit, print_document, say, warn};
use super::{Arguments, CommandError, load, out};
use crate::cluster::kubernetes::{Job, Volume};
use crate::cluster::slurm::quoted;
use crate::cluster::{self, Limits, Submitter};
use crate::{Plan, Run, Survey, result_in};

/// An etcd of the usual size stores a job with this many indices without trouble.
const MAX_PARTS: usize = 1000;

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Result<Exit, CommandError> {
    let cluster = &arguments.cluster;
    let (Some(image), Some(volume)) = (&cluster.image, &cluster.volume) else {
        unreachable!("clap requires both");
    };
    let plan = load(arguments)?;
    let most = plan.runs.len().min(MAX_PARTS);
    if let Some(tasks) = cluster.tasks.map(NonZeroUsize::get).filter(|tasks| *tasks > most) {
        let runs = counted(plan.runs.len() as u64, "run");
        warn(format!(
            "--tasks {tasks} is more than there can be: the sweep has {runs}, and a manifest {MAX_PARTS} parts at most; \
             the job has {most}"
        ));
    }
    let (file, out) = (in_pods(&arguments.file, volume)?, in_pods(&out(arguments), volume)?);
    let job = Job {
        name: arguments.file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        image: image.clone(),
        arguments: arguments.words(&file, &out),
        volume: volume.clone(),
        parts: match cluster.tasks.map(NonZeroUsize::get) {
            None => parts(arguments, &plan),
            Some(parts) => parts.min(most),
        },
        build: Submitter::for_this_process().version_and_build(),
        cpus: cluster.cpus(),
        memory: cluster.memory.as_ref().map(super::cluster_arguments::Memory::for_kubernetes),
    };
    let exit = print_document(&format!("{:#}", job.manifest()), Exit::Success);
    let merge = absolute_path(&arguments.file)?;
    let folder = absolute_path(&super::out(arguments))?;
    let words = arguments.words(&merge.to_string_lossy(), &folder.to_string_lossy());
    let words = words.iter().map(|word| quoted(word));
    let call = iter::once("xoff".to_owned()).chain(words).collect::<Vec<_>>().join(" ");
    say(format_args!(
        "apply it with `kubectl apply --filename`; when the job is complete, `{call} --tables` makes the tables, and --status in \
         place of --tables says how far it is"
    ));
    Ok(exit)
}

fn in_pods(path: &Path, volume: &Volume) -> Result<String, CommandError> {
    let path = absolute_path(path)?;
    volume.in_pods(&path).ok_or_else(|| {
        CommandError::Text(format!(
            "{} is not in {}, which --volume names: pods would not see it",
            path.display(),
            volume.here.display()
        ))
    })
}

fn absolute_path(path: &Path) -> Result<std::path::PathBuf, CommandError> {
    absolute(path).map_err(|error| CommandError::Text(format!("{}: {error}", path.display())))
}

/// Returns the number of parts for the waiting runs, estimated from the times of complete runs.
fn parts(arguments: &Arguments, plan: &Plan) -> usize {
    let out = out(arguments);
    let survey = Survey::new(plan, &|run| result_in(&out, &run.id));
    let waiting: Vec<&Run> = plan.runs.iter().filter(|run| !survey.is_done(run)).collect();
    let times = cluster::estimate(plan, &waiting, &survey.walls);
    let limits = Limits {
        runs_at_once: arguments.cluster.cpus(),
        tasks: MAX_PARTS,
        tasks_at_once: None,
        time: None,
    };
    cluster::deal(&times, &limits).0.len()
}
