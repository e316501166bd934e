//! Writes the cluster of the benchmark to a file, as `kubectl get -o json` would: for timing the whole
//! program on it, beside other programs that read JSON.
//!
//! ```sh
//! cargo run --example generate-cluster -- 10000 /tmp/cluster.json
//! ```

#[path = "../benches/support/cluster.rs"]
mod cluster;

use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use anyhow::Context as _;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(tasks), Some(path)) = (arguments.next(), arguments.next()) else {
        anyhow::bail!("usage: generate-cluster TASKS PATH");
    };
    let tasks = tasks.parse().context("TASKS is a number")?;
    write(tasks, &path).with_context(|| format!("write {path}"))
}

fn write(tasks: usize, path: &str) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n")?;
    let mut separator: &[u8] = b"";
    for object in cluster::objects(cluster::Size::of(tasks)) {
        file.write_all(separator)?;
        separator = b",\n";
        serde_json::to_writer(&mut file, &object)?;
    }
    file.write_all(b"\n]}\n")?;
    file.flush()
}
