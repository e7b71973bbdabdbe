//! A sweep as an Indexed Job of Kubernetes, `batch/v1`: <https://kubernetes.io/docs/concepts/workloads/controllers/job/>.
//!
//! Each index runs one part of the sweep into a volume that all pods share. An index whose pod is evicted starts again
//! and keeps the complete runs. An index whose runs fail does not start again, because the runs would fail again.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Retries of an index, for example after its node fails.
const RETRIES: u32 = 3;

/// A persistent volume claim with its mount points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Name of the claim.
    pub claim: String,
    /// Mount point on this machine.
    pub here: PathBuf,
    /// Mount point in pods.
    pub in_pods: PathBuf,
}

impl Volume {
    /// Parses `CLAIM=FOLDER` or `CLAIM=FOLDER:FOLDER_IN_PODS`.
    ///
    /// # Errors
    /// A sentence with the problem and the expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let help = "write CLAIM=FOLDER, or CLAIM=FOLDER:FOLDER_IN_PODS, with absolute paths";
        let (claim, folders) = text.split_once('=').ok_or(help)?;
        let (here, in_pods) = folders.split_once(':').unwrap_or((folders, folders));
        if !is_name(claim) {
            return Err(format!(
                "`{claim}` is not the name of a claim: lower-case letters, digits, `-` and `.`"
            ));
        }
        if !here.starts_with('/') || !in_pods.starts_with('/') || in_pods.contains(':') {
            return Err(help.into());
        }
        Ok(Self { claim: claim.into(), here: here.into(), in_pods: in_pods.into() })
    }

    /// Returns the path in pods of a path on this machine; `None` if it is not in the volume.
    pub fn in_pods(&self, path: &Path) -> Option<String> {
        let rest = path.strip_prefix(&self.here).ok()?;
        Some(self.in_pods.join(rest).to_string_lossy().into_owned())
    }
}

/// A Kubernetes job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Text from which the job's name is made.
    pub name: String,
    /// The image, whose entry point is xoff.
    pub image: String,
    /// Arguments of xoff before the arguments of the part.
    pub arguments: Vec<String>,
    /// The volume that holds the sweep file and its folder.
    pub volume: Volume,
    /// Number of parts.
    pub parts: usize,
    /// The build of xoff that the image must have.
    pub build: String,
    /// Processors per pod; a pod executes this many runs in parallel.
    pub cpus: usize,
    /// Memory of a pod, in Kubernetes' notation, such as `2Gi`.
    pub memory: Option<String>,
}

impl Job {
    /// Returns the manifest. JSON is also YAML, so `kubectl apply --filename` accepts it.
    pub fn manifest(&self) -> Value {
        let mut limits = json!({ "cpu": self.cpus.to_string() });
        if let Some(memory) = &self.memory {
            limits["memory"] = memory.as_str().into();
        }
        let mut arguments = self.arguments.clone();
        // Kubernetes expands $(NAME), and reads $$ as $.
        for argument in &mut arguments {
            *argument = argument.replace('$', "$$");
        }
        arguments.push(format!("--jobs={}", self.cpus));
        arguments.push(format!("--build={}", self.build));
        arguments.push(format!("--part=$(JOB_COMPLETION_INDEX)/{}", self.parts));
        let folder = self.volume.in_pods.to_string_lossy();
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": { "name": job_name(&self.name), "labels": { "app.kubernetes.io/name": "xoff" } },
            "spec": {
                "completionMode": "Indexed",
                "completions": self.parts,
                "parallelism": self.parts,
                "backoffLimitPerIndex": RETRIES,
                "podFailurePolicy": { "rules": [
                    { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }] },
                    { "action": "FailIndex",
                      "onExitCodes": { "containerName": "xoff", "operator": "In", "values": [1, 2] } },
                ] },
                "template": {
                    "metadata": { "labels": { "app.kubernetes.io/name": "xoff" } },
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{
                            "name": "xoff",
                            "image": self.image,
                            "args": arguments,
                            "resources": { "limits": limits, "requests": limits },
                            "volumeMounts": [{ "name": "sweep", "mountPath": folder }],
                        }],
                        "volumes": [{
                            "name": "sweep",
                            "persistentVolumeClaim": { "claimName": self.volume.claim },
                        }],
                    },
                },
            },
        })
    }
}

/// Returns a name that Kubernetes accepts for a job whose pods have the index in their names: at most 52 lower-case
/// letters, digits and `-`.
fn job_name(name: &str) -> String {
    let lower = name.to_lowercase();
    let plain = lower.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let name: String = "xoff-".chars().chain(plain).take(52).collect();
    name.trim_end_matches('-').to_owned()
}

/// Returns true if Kubernetes accepts the name for a claim (RFC 1123 subdomain).
fn is_name(text: &str) -> bool {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=253).contains(&text.len())
        && text.chars().all(|c| is_end(c) || c == '-' || c == '.')
        && text.starts_with(is_end)
        && text.ends_with(is_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_says_where_pods_have_what_is_here() {
        let volume = Volume::parse("shared=/mnt/nfs:/data").unwrap();
        assert_eq!(
            volume.in_pods(Path::new("/mnt/nfs/a/b.toml")).as_deref(),
            Some("/data/a/b.toml")
        );
        assert_eq!(volume.in_pods(Path::new("/mnt/nfs2/b.toml")), None);
        let volume = Volume::parse("shared=/mnt/nfs").unwrap();
        assert_eq!(volume.in_pods(Path::new("/mnt/nfs/b")).as_deref(), Some("/mnt/nfs/b"));
        for (text, expected) in [
            ("/mnt/nfs", "write CLAIM=FOLDER"),
            ("shared=nfs", "write CLAIM=FOLDER"),
            ("shared=/nfs:data", "write CLAIM=FOLDER"),
            ("Shared=/nfs", "`Shared` is not the name of a claim"),
            ("=/nfs", "`` is not the name of a claim"),
        ] {
            let error = Volume::parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn names_are_such_as_kubernetes_takes() {
        assert_eq!(job_name("My sweep_2"), "xoff-my-sweep-2");
        assert_eq!(job_name(&"a".repeat(80)).len(), 52);
        assert_eq!(job_name("--"), "xoff");
    }

    #[test]
    fn dollars_of_a_path_are_not_taken_for_a_variable() {
        let job = Job {
            name: "a".into(),
            image: "xoff:0.2".into(),
            arguments: vec!["sweep".into(), "/data/$(x).toml".into()],
            volume: Volume::parse("shared=/data").unwrap(),
            parts: 8,
            build: "0.2.0-0123".into(),
            cpus: 2,
            memory: None,
        };
        let manifest = job.manifest();
        let arguments = &manifest["spec"]["template"]["spec"]["containers"][0]["args"];
        let expected = json!([
            "sweep",
            "/data/$$(x).toml",
            "--jobs=2",
            "--build=0.2.0-0123",
            "--part=$(JOB_COMPLETION_INDEX)/8",
        ]);
        assert_eq!(arguments, &expected);
    }
}
